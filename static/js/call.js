// The Call screen: Esc cancels the running call; the lists are one tab stop each; C in the catalog lands in the form.
"use strict";
(() => {
  const LISTS = ["#tools", "#recent"];
  const links = (list) => [...document.querySelectorAll(`${list} a`)];

  function prepare() {
    for (const list of LISTS) {
      const all = links(list);
      const stop = all.find((link) => link.ariaCurrent === "true") ?? all[0];
      for (const link of all) link.tabIndex = link === stop ? 0 : -1;
    }
  }

  function move(event) {
    const list = LISTS.find((each) => event.target.closest?.(`${each} a`));
    if (!list) return;
    const all = links(list);
    const at = all.indexOf(event.target.closest("a"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[Math.max(0, Math.min(all.length - 1, to))];
    for (const link of all) link.tabIndex = link === next ? 0 : -1;
    next.focus();
  }

  document.addEventListener("keydown", (event) => {
    move(event);
    if (event.key !== "Escape" || event.target.closest("[data-filter]") || document.querySelector("dialog[open]")) return;
    document.querySelector("[data-act=cancel]")?.click();
  });
  // The address follows what is filled in: a copied address, a reload and going back show the same form.
  let typing = 0;
  async function address() {
    const form = document.getElementById("call-form");
    if (!form) return;
    const shown = location.href;
    const answer = await fetch(form.dataset.address, { method: "POST", body: new URLSearchParams(new FormData(form)) }).catch(() => null);
    if (answer?.status !== 200 || location.href !== shown) return;
    const to = new URL(await answer.text(), location.href);
    const call = new URLSearchParams(location.search).get("call");
    if (call) to.searchParams.set("call", call);
    history.replaceState(history.state, "", to);
  }
  document.addEventListener("input", (event) => {
    if (!event.target.closest("#call-form")) return;
    clearTimeout(typing);
    typing = setTimeout(address, 400);
  });
  document.addEventListener("htmx:after:settle", (event) => {
    if (event.target.id === "arguments") address();
  });
  document.addEventListener("htmx:after:settle", prepare);
  prepare();
  document.querySelector("#tools [aria-current=true]")?.scrollIntoView({ block: "nearest" });
  // Chosen by the keyboard (here, or by Enter in the filter), a tool is opened with the cursor in its first argument.
  document.addEventListener("click", (event) => {
    const link = event.detail === 0 && event.target.closest?.("#tools a");
    if (link) link.hash = "#call-form";
  });
  // After the browser has followed the fragment, which takes the focus away.
  addEventListener("pageshow", () => {
    if (location.hash !== "#call-form" || document.activeElement !== document.body) return;
    const inputs = "#arguments :is(input, select, textarea):not([type=hidden], .call__state)";
    (document.querySelector(inputs) ?? document.querySelector("#run"))?.focus({ preventScroll: true });
  });
})();
