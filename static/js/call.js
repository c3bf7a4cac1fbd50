// The Call screen: Esc cancels the running call.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.target.closest("[data-filter]") || document.querySelector("dialog[open]")) return;
  document.querySelector("[data-act=cancel]")?.click();
});
