// Put into a page after axe-core: what axe has against it, with as little work as shows all of it.
"use strict";

// Rows beyond the first `most` of a table or list show nothing new.
window.fewer = most => {
  for (const rows of document.querySelectorAll("tbody, #codes, #rules, ol.lines"))
    for (const row of [...rows.children].slice(most)) row.remove();
};

// Texts whose place (tags, classes, states up to the root) was not in `seen`: their colours cannot be known from another screen.
window.unseen = (where, seen) => {
  const known = new Set(seen), fresh = [], nodes = [];
  const step = e => [e.localName, ...e.classList, ...["aria-current", "aria-selected", "aria-checked", "aria-pressed", "disabled", "open"]
    .filter(name => e.hasAttribute(name)).map(name => `${name}=${e.getAttribute(name)}`)].join(".");
  for (const e of document.querySelectorAll(`${where} *`)) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && !e.matches("input, textarea, select")) continue;
    const path = [];
    for (let at = e; at && at !== document.body; at = at.parentElement) path.unshift(step(at));
    const place = path.join(">");
    if (known.has(place)) continue;
    known.add(place);
    fresh.push(place);
    nodes.push(e);
  }
  window.texts = nodes;
  return fresh;
};

const told = result => result.violations.filter(v => v.impact !== "minor")
  .flatMap(v => v.nodes.map(n => `${v.impact} ${v.id}: ${n.html.slice(0, 200)} (${n.failureSummary})`));
const cheap = {resultTypes: ["violations"], elementRef: false, preload: false};
window.shape = async where => told(await axe.run(where, {...cheap, rules: {"color-contrast": {enabled: false}}}));
window.colours = async () => texts.length ? told(await axe.run({include: texts}, {...cheap, runOnly: ["color-contrast"]})) : [];
