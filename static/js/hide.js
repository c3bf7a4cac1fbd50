// "Hide selected text": what was selected last inside the place a form names goes into its field.
"use strict";
(() => {
  const LONGEST = 2000;

  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    const text = selection.toString().trim();
    if (!text || text.length > LONGEST) return;
    for (const form of document.querySelectorAll("form[data-hide]")) {
      if (!form.closest(form.dataset.hide)?.contains(selection.anchorNode) || form.contains(selection.anchorNode)) continue;
      form.elements.text.value = text;
      const button = form.querySelector("button");
      button.disabled = false;
      button.title = `Exports of this recording will not hold: ${text.slice(0, 80)}`;
    }
  });
})();
