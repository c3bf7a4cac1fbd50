// What the sweep over every screen looks for, put into each page before its own scripts.
"use strict";
window.ran = [];
if (window === top) window.pwn = n => ran.push(`pwn(${n})`);
document.addEventListener("securitypolicyviolation", e => ran.push(`${e.violatedDirective} ${e.blockedURI}`));

const PLACES = ["href", "src", "action", "formaction", "xlink:href", "hx-get", "hx-post", "data-href"];

// A page or part, parsed as a swap would parse it: what of it would run, load or lead elsewhere.
window.putIn = ([text, base]) => {
  const box = document.body.appendChild(document.createElement("div"));
  const found = document.createRange().createContextualFragment(text);
  for (const own of found.querySelectorAll('script[src^="/static/"], link[href^="/static/"], meta:not([data-pwn])')) own.remove();
  box.append(found);
  const bad = "[data-pwn], script, object, embed, base, link, [style], [srcdoc]";
  const wrong = [...box.querySelectorAll(bad)].map(e => e.outerHTML);
  for (const one of box.querySelectorAll("*"))
    for (const {name, value} of one.attributes) {
      if (/^(on|hx-on)/.test(name)) wrong.push(`${name}=${value}`);
      if (!PLACES.includes(name)) continue;
      const picture = name === "src" && value.startsWith("data:image/");
      if (new URL(value, base).origin !== new URL(base).origin && !picture) wrong.push(`${name}=${value}`);
    }
  box.remove();
  return [...wrong.map(each => each.slice(0, 200)), ...ran.splice(0)];
};

// What a pointer can work and a keyboard cannot.
window.pointerOnly = () => {
  const works = "a[href], button, input, select, textarea, summary, [tabindex]";
  const handled = "[data-do], [data-open], [data-copy], [hx-get], [hx-post], [data-href], [data-get]";
  return [...document.querySelectorAll(handled)].filter(e => {
    const alone = /every|load|delay|revealed|intersect|stale|from:|refresh/.test(e.getAttribute("hx-trigger") || "");
    return !alone && !e.matches(`${works}, form`) && !e.querySelector(works);
  }).map(e => `no key for ${e.outerHTML.slice(0, 200)}`);
};
