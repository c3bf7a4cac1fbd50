// The page of the timeline: what the line under its list counts, while rows come and go.
"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  const number = (value) => Number(value).toLocaleString("en");

  function range() {
    const place = $("[data-range]");
    const rows = place ? document.querySelectorAll("#timeline-rows > .frame") : [];
    if (!rows.length) return;
    place.textContent = `#${number(rows[0].id.slice(1))}–#${number(rows[rows.length - 1].id.slice(1))}`;
  }

  document.addEventListener("htmx:after:settle", range);
  document.addEventListener("htmx:ws:after:message:incoming", (event) => {
    range();
    const { data } = event.detail.message;
    const total = $("#list-total");
    if (total && data.startsWith("{")) total.textContent = number(JSON.parse(data).total);
  });
})();
