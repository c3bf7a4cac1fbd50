// The Replay screen: boxes in rows, and params that are typed.
"use strict";
// A box in a row is ticked without opening the row; Space ticks the row that has the focus.
document.addEventListener("click", (event) => {
  if (event.target.closest(".rp__k")) event.stopPropagation();
}, true);
// What is typed and not kept yet is what is meant: it goes along with the order to send.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("#send, #send-one")) return;
  // So are the boxes as they stand, though the answer that counts them may be on its way.
  event.target.elements.pick?.setAttribute("value", new FormData(document.getElementById("choose")).getAll("pick").join(","));
  event.target.elements.typed?.remove(); // of an earlier order, when somebody came back to this page
  const typed = document.querySelector(".rp__params");
  if (!typed || typed.value === typed.defaultValue) return;
  event.target.append(Object.assign(document.createElement("input"), { type: "hidden", name: "typed", value: typed.value }));
}, true);
document.addEventListener("keydown", (event) => {
  const box = event.key === " " && event.target.matches(".rp__t tr") && event.target.querySelector("[name=pick]");
  if (!box) return;
  event.preventDefault();
  box.click();
});
