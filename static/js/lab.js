// The Lab's own keys: 1 to 9 choose an offer, the arrows step back and forward.
"use strict";
document.addEventListener("keydown", (event) => {
  const box = document.getElementById("keys-on");
  const busy = event.target.closest("input, textarea, select, dialog, .scroll") && !event.target.closest(".lab__offers");
  if (busy || event.ctrlKey || event.metaKey || event.altKey || (box && !box.checked)) return;
  const step = { ArrowLeft: "back", ArrowRight: "next" }[event.key];
  const found = step
    ? document.querySelector(`[data-step=${step}]`)
    : /^[1-9]$/.test(event.key) && document.querySelector(`[data-choose="${event.key}"]`);
  if (!found) return;
  event.preventDefault();
  found.click();
});
