// The Code screen: a call that waits for an answer takes the focus when nothing else has it.
"use strict";
(() => {
  const look = () => document.activeElement === document.body && document.querySelector(".code__a")?.focus();
  document.addEventListener("htmx:after:settle", look);
  look();
})();
