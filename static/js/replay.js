// A box in a row is ticked without opening the row; Space ticks the row that has the focus.
document.addEventListener("click", (event) => {
  if (event.target.closest(".rp__k")) event.stopPropagation();
}, true);
// What is typed and not kept yet is what is meant: it goes along with the order to send.
document.addEventListener("submit", (event) => {
  const typed = document.querySelector(".rp__params");
  if (!event.target.matches("#send, #send-one") || !typed || typed.value === typed.defaultValue) return;
  const field = event.target.elements.typed ?? event.target.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "typed" }));
  field.value = typed.value;
}, true);
document.addEventListener("keydown", (event) => {
  const box = event.key === " " && event.target.matches(".rp__t tr") && event.target.querySelector("[name=pick]");
  if (!box) return;
  event.preventDefault();
  box.click();
});
