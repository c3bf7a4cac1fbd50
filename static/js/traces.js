// The Traces screen: drop a file anywhere on it; an upload shows how far it is and can be stopped.
"use strict";
(() => {
  const form = document.querySelector("[data-drop]");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const place = form.querySelector("[data-upload]");
  const holds = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;
  let upload = null;

  function over(on) {
    form.classList.toggle("drop--over", on);
  }

  document.addEventListener("dragenter", (event) => {
    if (holds(event)) over((depth += 1) > 0);
  });
  document.addEventListener("dragleave", (event) => {
    if (holds(event)) over((depth -= 1) > 0);
  });
  document.addEventListener("dragover", (event) => {
    if (holds(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    depth = 0;
    over(false);
    if (upload || !event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  });

  // The browser's own submit says nothing of a large file; this one does, and then goes where the answer leads.
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (upload) return;
    upload = new XMLHttpRequest();
    upload.upload.addEventListener("progress", ({ loaded, total }) => {
      const part = total ? (loaded / total) * 100 : 0;
      place.querySelector("progress").value = part;
      place.querySelector("span").textContent = part < 100 ? `${Math.floor(part)} % sent` : "Reading…";
    });
    upload.addEventListener("loadend", () => {
      const done = upload;
      upload = null;
      place.hidden = true;
      if (done.status >= 200 && done.status < 300) location.assign(done.responseURL);
      else if (done.status) refused(done);
      else if (!done.aborted) say("The upload broke off. Is Loupe still running?");
    });
    place.hidden = false;
    upload.open("POST", form.action);
    upload.send(new FormData(form));
  });

  place.querySelector("[data-stop]").addEventListener("click", () => {
    if (!upload) return;
    upload.aborted = true;
    upload.abort();
    say("Cancelled. Nothing was kept.");
  });

  // A refusal is the same page with the reason above the list: only its main part is new.
  function refused(done) {
    const page = new DOMParser().parseFromString(done.responseText, "text/html");
    const main = page.querySelector("#main");
    if (main) document.querySelector("#main .traces__fail")?.remove();
    const why = main?.querySelector(".traces__fail, .exp");
    if (why) form.closest(".scroll").before(why);
    form.reset();
    say(why?.querySelector(".exp__n")?.textContent ?? "The file was refused.");
  }

  function say(text) {
    const region = document.querySelector("#say");
    if (region) region.textContent = text;
  }
})();
