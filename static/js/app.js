// The console's own script. No framework, no eval.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const on = (type, listener, options) => document.addEventListener(type, listener, options);
  const store = {
    get(key) {
      try { return localStorage.getItem(`loupe.${key}`); } catch { return null; }
    },
    set(key, value) {
      try { localStorage.setItem(`loupe.${key}`, value); } catch { /* closed to us: the choice lasts for this page */ }
    },
  };

  // Said once, politely, by the one live region; shown for a while as a toast.
  function say(text) {
    const region = $("#say");
    if (region) region.textContent = text;
  }

  function toast(text, error = false) {
    const box = $("#toasts");
    if (!box) return;
    const note = document.createElement("div");
    note.className = error ? "toast toast--err" : "toast";
    note.textContent = text;
    const close = document.createElement("button");
    close.className = "ib ib--s";
    close.type = "button";
    close.ariaLabel = "Close";
    close.textContent = "×";
    close.addEventListener("click", () => note.remove());
    note.append(close);
    for (const same of $$(".toast", box)) if (same.firstChild?.textContent === text) same.remove();
    box.append(note);
    while (box.children.length > 3) box.firstChild.remove();
    if (!error) setTimeout(() => note.remove(), 6000);
    say(text);
  }

  // Theme and the timeline column.
  const narrow = matchMedia("(max-width: 1359px)");

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function toggleTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    store.set("theme", root.dataset.theme);
  }

  function pinShown() {
    return narrow.matches ? root.dataset.pin === "over" : root.dataset.pin !== "off";
  }

  function togglePin() {
    if (!$("#pin")) return;
    const show = !pinShown();
    if (narrow.matches) {
      if (show) root.dataset.pin = "over";
      else delete root.dataset.pin;
    } else {
      if (show) delete root.dataset.pin;
      else root.dataset.pin = "off";
      store.set("pin", show ? "on" : "off");
    }
    paintPin();
  }

  function paintPin() {
    for (const button of $$("[data-do=pin]")) button.ariaPressed = String(pinShown());
    // A hidden box cannot be scrolled: it goes to its newest row once in sight.
    for (const box of pinShown() ? $$("#pin [data-follow]") : []) if (follows(box)) toEnd(box);
  }

  // Rows: one tab stop a table, arrows move, the row acts. Without script every row keeps its own link.
  const ROWS = ".tbl tbody tr[data-href], .tbl tbody tr[data-get], .tbl tbody tr[hx-get]";

  function prepare() {
    for (const table of $$(".tbl")) {
      const rows = $$(ROWS, table);
      if (!rows.length) continue;
      const current = rows.find((row) => row.tabIndex === 0) ?? rows.find((row) => row.ariaSelected === "true") ?? rows[0];
      for (const row of rows) {
        if (!row.hasAttribute("tabindex")) for (const link of $$("a", row)) link.tabIndex = -1;
        const index = row === current ? 0 : -1;
        if (row.getAttribute("tabindex") !== String(index)) row.tabIndex = index;
      }
    }
  }

  function isOn(row) {
    return row.classList.contains("on") || row.classList.contains("frame--on");
  }

  function select(row) {
    const name = row.classList.contains("frame") ? "frame--on" : "on";
    for (const other of $$("tr.on, tr.frame--on", row.closest("table"))) {
      other.classList.remove("on", "frame--on");
      other.removeAttribute("aria-selected");
    }
    row.classList.add(name);
    row.ariaSelected = "true";
    drawPair(row);
  }

  function focusRow(row) {
    for (const other of $$('tr[tabindex="0"]', row.closest("table"))) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function rowsNow() {
    const focused = document.activeElement?.closest?.(ROWS);
    const table = focused?.closest("table") ?? $$(".tbl").find((t) => $(ROWS, t.parentNode));
    return table ? { focused, rows: $$(ROWS, table.parentNode).filter((row) => row.closest("table") === table) } : null;
  }

  function move(step) {
    const now = rowsNow();
    if (!now?.rows.length) return false;
    const from = now.focused ?? now.rows.find(isOn);
    const at = from ? now.rows.indexOf(from) + step : 0;
    const row = now.rows[Math.max(0, Math.min(now.rows.length - 1, at))];
    if (step < 0) pause(row.closest("[data-follow]"));
    focusRow(row);
    if (row.classList.contains("frame")) drawPair(row);
    return true;
  }

  // Rows come by the thousand: htmx gets to know one (0.4 ms) when it is opened.
  function arm(row) {
    if (!row.dataset.get || row.hasAttribute("hx-get")) return false;
    row.setAttribute("hx-get", row.dataset.get);
    htmx.process(row);
    return true;
  }

  function open(row) {
    arm(row);
    if (row.hasAttribute("hx-get")) {
      select(row);
      htmx.trigger(row, "click");
    } else if (row.dataset.href) {
      location.assign(row.dataset.href);
    }
  }

  // The bracket between a request and its answer, in the gutter.
  function drawPair(row) {
    const table = row?.closest("table");
    if (!table) return;
    for (const marked of $$(".frame--pair, .frame--p1, .frame--pm, .frame--p2", table)) {
      marked.classList.remove("frame--pair", "frame--p1", "frame--pm", "frame--p2");
    }
    const other = partner(row);
    if (!other) return;
    const [first, last] = row.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? [row, other] : [other, row];
    other.classList.add("frame--pair");
    first.classList.add("frame--p1");
    last.classList.add("frame--p2");
    for (let between = first.nextElementSibling; between && between !== last; between = between.nextElementSibling) {
      between.classList.add("frame--pm");
    }
  }

  function partner(row) {
    return row.dataset.pair ? document.getElementById(`e${row.dataset.pair}`) : null;
  }

  let hovered = null;
  on("pointerover", (event) => {
    const row = event.target.closest?.("tr.frame");
    const cell = row && event.target.closest("td");
    if (cell && !cell.title) cell.title = cell.textContent.trim();
    if (row === hovered) return;
    const table = (row ?? hovered)?.closest("table");
    hovered = row;
    if (row) drawPair(row);
    else if (table) drawPair($("tr.frame--on", table) ?? $("tr.frame", table));
  });

  // Follow: stick to the newest row until the person moves up. The socket is told so, and of
  // each text that is drawn (web/pushing.py).
  const missed = new WeakMap();
  const sockets = new WeakMap();

  function send(connection, word) {
    if (connection?.socket?.readyState === 1) connection.socket.send(word);
  }

  function tell(box) {
    const row = $(".frame, .mini", box)?.offsetHeight || 20;
    send(sockets.get(box), follows(box) ? `following ${Math.ceil(box.clientHeight / row)}` : "paused");
  }

  on("htmx:ws:after:connection", (event) => {
    const box = followBox(event.target);
    if (!box) return;
    sockets.set(box, event.detail.connection);
    tell(box);
  });

  on("htmx:ws:after:message:incoming", (event) => {
    const { connection, message } = event.detail;
    const news = message.data.startsWith("{") && JSON.parse(message.data);
    const box = followBox(event.target);
    if (news && box) {
      missed.set(box, news.more ? `over ${news.new.toLocaleString("en")}` : news.new);
      paintFollow(box);
    }
    if (!news) requestAnimationFrame(() => send(connection, "drawn"));
    refresh();
  });

  function follows(box) {
    return box.dataset.follow !== "paused";
  }

  function pause(box) {
    if (!box || !follows(box)) return;
    box.dataset.follow = "paused";
    missed.set(box, 0);
    paintFollow(box);
    tell(box);
  }

  function resume(box) {
    box.dataset.follow = "on";
    missed.set(box, 0);
    toEnd(box);
    paintFollow(box);
    tell(box);
  }

  function toEnd(box) {
    box.scrollTop = box.scrollHeight;
    box.dataset.top = box.scrollTop;
  }

  function paintFollow(box) {
    const count = missed.get(box) ?? 0;
    const within = box.closest(".pin, .main") ?? document;
    for (const button of $$("[data-do=follow]", within)) {
      button.ariaPressed = String(follows(box));
      const words = $("span", button);
      if (words && button.classList.contains("tag")) words.textContent = follows(box) ? "following" : count ? `${count.toLocaleString("en")} new` : "paused";
    }
    for (const place of $$("[data-new]", within)) {
      place.hidden = follows(box) || !count;
      ($("span", place) ?? place).textContent = `${count.toLocaleString("en")} new`;
    }
  }

  function followBox(from) {
    return $("[data-follow]", from?.closest?.(".pin") ?? $("#main")) ?? $("[data-follow]");
  }

  on("scroll", (event) => {
    const box = event.target;
    if (!box.matches?.("[data-follow]")) return;
    const bottom = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (bottom > 30 && box.dataset.top > box.scrollTop) pause(box);
    else if (bottom < 4 && !follows(box)) resume(box);
    box.dataset.top = box.scrollTop;
  }, true);

  function watchFollow() {
    for (const box of $$("[data-follow]:not([data-watched])")) {
      box.dataset.watched = "";
      if (follows(box)) box.scrollTop = box.scrollHeight;
      box.dataset.top = box.scrollTop;
      new MutationObserver(() => follows(box) && toEnd(box)).observe(box, { childList: true, subtree: true });
    }
  }

  // Clocks. data-until, data-since: milliseconds since the epoch; data-total: the lifetime the meter stands for.
  function clockText(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    const minutes = Math.floor(whole / 60);
    const two = (n) => String(n).padStart(2, "0");
    return minutes < 60 ? `${minutes}:${two(whole % 60)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
  }

  function tick() {
    for (const element of $$("[data-until]")) {
      const left = (Number(element.dataset.until) - Date.now()) / 1000;
      element.textContent = clockText(left);
      const meter = $(".meter rect", element.closest(".metric") ?? element.parentNode);
      if (meter && element.dataset.total) {
        meter.setAttribute("width", `${Math.max(0, Math.min(100, (left * 100000) / Number(element.dataset.total)))}%`);
      }
      if (left <= 0 && !("stale" in element.dataset)) {
        element.dataset.stale = "";
        $(".meter", element.closest(".metric") ?? element.parentNode)?.classList.add("meter--stale");
        say(element.dataset.say ?? "The list is stale now.");
        htmx.trigger(element, "stale");
      }
    }
    for (const element of $$("[data-since]")) {
      element.textContent = clockText((Date.now() - Number(element.dataset.since)) / 1000);
    }
  }

  // Dialogs.
  function openPalette() {
    const dialog = $("#palette");
    if (!dialog || dialog.open) return;
    dialog.showModal();
    const field = $("#palette-q");
    field.value = "";
    filterPalette();
    field.focus();
    htmx.trigger(field, "recent");
  }

  function options() {
    return $$(".pal__o", $("#palette")).filter((option) => !option.hidden);
  }

  function mark(option) {
    for (const other of $$(".pal__o[aria-selected=true]")) other.ariaSelected = "false";
    if (!option) return;
    option.ariaSelected = "true";
    option.id ||= `pal-${Math.random().toString(36).slice(2)}`;
    $("#palette-q").setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  // As web/palette.py: each word as it stands, or its letters in order.
  function fits(wanted, text) {
    const inOrder = (word) => [...word].reduce((at, letter) => (at < 0 ? at : text.indexOf(letter, at) + 1 || -1), 0) >= 0;
    return wanted.split(/\s+/).every((word) => text.includes(word) || (word.length > 1 && inOrder(word)));
  }

  function filterPalette() {
    const wanted = $("#palette-q").value.trim().toLowerCase();
    // Also what was found for other words: Enter must not open that.
    for (const option of $$("#palette-list .pal__o")) option.hidden = !fits(wanted, option.textContent.trim().toLowerCase());
    for (const group of $$("#palette-list .pal__g")) {
      let next = group.nextElementSibling;
      while (next?.matches(".pal__o") && next.hidden) next = next.nextElementSibling;
      group.hidden = !next?.matches(".pal__o");
    }
    mark(options()[0]);
    awaited = null;
    tellNothing();
  }

  // Until the server's options are there, nothing is not yet nothing.
  function tellNothing() {
    const note = $("#palette-none");
    if (note) note.hidden = options().length > 0;
  }

  // Enter before anything was found: opens the first that comes.
  let awaited = null;

  function paletteKey(event) {
    const found = options();
    const at = found.findIndex((option) => option.ariaSelected === "true");
    if (event.key === "ArrowDown") mark(found[Math.min(found.length - 1, at + 1)]);
    else if (event.key === "ArrowUp") mark(found[Math.max(0, at - 1)]);
    else if (event.key === "Enter") found[at] ? found[at].click() : (awaited = event.target.value);
    else return;
    event.preventDefault();
  }

  on("input", (event) => {
    if (event.target.id === "palette-q") filterPalette();
  });

  on("htmx:after:settle", (event) => {
    if (event.target.id !== "palette-found") return;
    if (!options().some((option) => option.ariaSelected === "true")) mark(options()[0]);
    tellNothing();
  });

  function ask(question, yes = "Go on") {
    const dialog = $("#confirm");
    $("#confirm-yes").textContent = yes;
    $("#confirm-p").textContent = question;
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((answer) => {
      dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true });
    });
  }

  on("htmx:confirm", (event) => {
    const { ctx, issueRequest, dropRequest } = event.detail;
    event.preventDefault();
    ask(ctx.confirm).then((yes) => (yes ? issueRequest() : dropRequest()));
  });

  on("submit", (event) => {
    const form = event.target;
    const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (!question || form.dataset.sure) return;
    event.preventDefault();
    ask(question, event.submitter?.textContent.trim()).then((yes) => {
      if (!yes) return;
      form.dataset.sure = "yes";
      form.requestSubmit(event.submitter);
      delete form.dataset.sure;
    });
  });

  // Copy.
  async function copy(button) {
    const source = button.dataset.copy ? $(button.dataset.copy) : null;
    const text = button.dataset.text ?? (source && "value" in source ? source.value : source?.textContent) ?? "";
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      toast("The browser did not allow copying; select the text and copy it yourself.", true);
    }
  }

  // Errors, findings, pairs.
  function nextOf(selector, from) {
    const all = $$(selector);
    if (!all.length) return null;
    return (from && all.find((each) => from.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING)) || all[0];
  }

  function nextError() {
    const row = nextOf("#main tr.frame--err", $("#main tr.frame--on"));
    if (row) {
      pause(row.closest("[data-follow]"));
      focusRow(row);
      open(row);
    } else {
      click("[data-act=next-error]") || say("No error in this list.");
    }
  }

  function nextFinding() {
    const found = nextOf("[data-finding]", $("[data-finding].on"));
    if (!found) return;
    for (const other of $$("[data-finding].on")) other.classList.remove("on");
    found.classList.add("on");
    found.tabIndex = -1;
    found.focus({ preventScroll: true });
    found.scrollIntoView({ block: "nearest" });
  }

  function toPair() {
    const row = document.activeElement?.closest?.("tr.frame") ?? $("tr.frame--on");
    const other = row && partner(row);
    if (other) focusRow(other);
    else say("The other half is not in this list.");
  }

  function click(selector) {
    const element = $(selector);
    if (element && !element.disabled) element.click();
    return Boolean(element);
  }

  // Keys. Single letters are off in inputs, with a modifier, and when the person switched them off.
  let chord = 0;

  const KEYS = {
    "/": () => $("[data-filter]")?.focus(),
    "?": () => $("#keys")?.showModal(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    e: nextError,
    f: nextFinding,
    p: toPair,
    l: () => toggleFollow(followBox()),
    t: togglePin,
    r: () => click("[data-act=refresh]"),
    c: () => click("[data-act=call]"),
    x: () => click("[data-act=swap]"),
    g: () => { chord = Date.now(); },
  };

  // The filter: down goes to the first match, Enter opens it once the list is that of what was typed.
  let opening = false;
  const askedFor = new WeakMap();

  function firstMatch() {
    return $("#tools a.call__tool") ?? $(ROWS, $("#main"));
  }

  function toFirst(act) {
    const first = firstMatch();
    if (!first) return say("Nothing matches.");
    if (first.matches(ROWS)) focusRow(first);
    else first.focus();
    if (act && first.matches(ROWS)) open(first);
    else if (act) first.click();
  }

  function filterKey(event) {
    const field = event.target;
    const live = field.hasAttribute("hx-get");
    if (event.key === "ArrowDown" && firstMatch()) toFirst(false);
    else if (event.key === "Enter" && live && field.value !== (field.dataset.shown ?? field.defaultValue)) opening = true;
    else if (event.key === "Enter" && live) toFirst(true);
    else return;
    event.preventDefault();
  }

  // Leaving the field asks nothing, or the click that left it would be lost.
  on("change", (event) => {
    if (event.target.matches("[data-filter], .tlf__m")) event.stopPropagation();
  }, true);

  on("htmx:before:request", (event) => {
    const field = event.detail?.ctx?.sourceElement;
    if (field?.matches?.("[data-filter], #palette-q")) askedFor.set(event.detail.ctx, field.value);
  });

  on("htmx:after:swap", (event) => {
    const field = event.detail?.ctx?.sourceElement;
    if (field?.id === "palette-q" && $("#palette").open && askedFor.get(event.detail.ctx) === awaited) {
      awaited = null;
      options()[0]?.click();
    }
    if (!field?.matches?.("[data-filter]") || !askedFor.has(event.detail.ctx)) return;
    field.dataset.shown = askedFor.get(event.detail.ctx);
    if (!opening || field.value !== field.dataset.shown) return;
    opening = false;
    toFirst(true);
  });

  function toggleLetters() {
    const box = $("#keys-on");
    box.checked = !box.checked;
    store.set("keys", box.checked ? "on" : "off");
    toast(`Single-letter keys are ${box.checked ? "on" : "off"}.`);
  }

  function toggleFollow(box) {
    if (box) (follows(box) ? pause : resume)(box);
  }

  on("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    const dialog = $("dialog[open]");
    if (dialog) {
      // At once, and the focus with it: the browser takes a moment for each, and a key pressed then is lost.
      if (event.key === "Escape" && !event.isComposing) {
        event.preventDefault();
        dialog.close();
        if (dialog.contains(document.activeElement)) document.activeElement.blur();
      } else if (dialog.id === "palette") paletteKey(event);
      return;
    }
    if (event.target.matches("[data-filter]")) filterKey(event);
    if (event.key === "Escape" && event.target.matches("[data-filter]")) event.target.blur();
    else if (event.key === "Escape") click("#close");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) {
      const own = event.target.form ?? $("#main [type=submit][data-act=call]")?.form;
      if (!own) return;
      event.preventDefault();
      [...own.elements].find((each) => each.type === "submit" && !each.disabled)?.click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
    const row = event.target.closest?.(ROWS);
    if (event.key === "Enter" && row === event.target) {
      event.preventDefault();
      open(row);
      return;
    }
    const arrows = event.key.startsWith("Arrow");
    if (arrows ? !row && document.activeElement !== document.body : store.get("keys") === "off") return;
    if (/^[1-9]$/.test(event.key) && Date.now() - chord < 1500) {
      click(`.nav[data-key="${event.key}"]`);
      return;
    }
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act && !(event.shiftKey && /[a-z]/i.test(event.key)) && act() !== false) event.preventDefault();
  });

  // Clicks.
  const DO = { letters: toggleLetters, theme: toggleTheme, pin: togglePin, follow: (button) => toggleFollow(followBox(button)), "next-error": nextError };

  on("click", (event) => {
    const target = event.target;
    const opener = target.closest("[data-open]");
    if (target.closest("#palette [data-do], #palette [data-open]")) $("#palette").close();
    if (opener) {
      event.preventDefault();
      if (opener.dataset.open === "palette") openPalette();
      else document.getElementById(opener.dataset.open)?.showModal();
      return;
    }
    const doer = target.closest("[data-do]");
    if (doer && DO[doer.dataset.do]) return void DO[doer.dataset.do](doer);
    const copier = target.closest("[data-copy]");
    if (copier) return void copy(copier);
    if (target.closest("#close")) {
      const row = $("#main tr.on");
      row?.classList.remove("on");
      row?.removeAttribute("aria-selected");
      if (row) focusRow(row);
    }
    const cell = target.closest("[data-to]");
    if (cell) return void follow(cell.dataset.to);
    // A link of the pane to another item of the list: its row is the chosen one then.
    const shown = rowOf(target.closest("#explain a[hx-get]")?.getAttribute("href"));
    if (shown) {
      pause(shown.closest("[data-follow]"));
      select(shown);
      shown.scrollIntoView({ block: "nearest" });
    }
    const row = target.closest?.(ROWS);
    if (!row) return;
    if (target.closest("button, input, select, summary, a.lnk")) return;
    if (arm(row)) {
      event.preventDefault();
      return void htmx.trigger(row, "click");
    }
    if (row.hasAttribute("hx-get")) {
      if (target.closest("a")) event.preventDefault();
      select(row);
      focusRow(row);
    } else if (!target.closest("a") && !String(getSelection())) {
      location.assign(row.dataset.href);
    }
  });

  function rowOf(href) {
    return $$(ROWS).find((each) => (each.dataset.href ?? each.dataset.get ?? each.getAttribute("hx-get")) === href);
  }

  function follow(href) {
    const row = rowOf(href);
    if (!row) return void location.assign(href);
    focusRow(row);
    open(row);
  }

  on("change", (event) => {
    if (event.target.id === "keys-on") store.set("keys", event.target.checked ? "on" : "off");
  });

  // htmx: the bar under the head, focus kept, failures told.
  let running = 0;
  let held = false;
  let focusedId = "";
  let neighbours = [];
  let chosen = "";
  let list = null;

  on("htmx:before:request", () => {
    running += 1;
    root.classList.add("is-busy");
  });

  on("htmx:finally:request", () => {
    running = Math.max(0, running - 1);
    if (!running) root.classList.remove("is-busy");
  });

  on("htmx:before:swap", () => {
    const active = document.activeElement;
    held = active !== document.body;
    focusedId = active?.id ?? "";
    const row = active?.closest?.("tr");
    list = active?.closest?.("[data-follow]") ?? null;
    chosen = $("#main tr.on")?.id;
    neighbours = [row?.nextElementSibling?.id, row?.previousElementSibling?.id];
  });

  on("htmx:finally:swap", () => {
    const own = document.getElementById(focusedId);
    const others = neighbours.map((id) => document.getElementById(id));
    const next = [own, own && $("summary", own.closest("details") ?? own), ...others, list, $("#main :is(tr.on, tr.frame--on)"), $("#main h1")];
    for (const it of held ? next : []) if (document.activeElement === document.body) it?.focus({ preventScroll: true });
  });

  // A chosen item opens as a sheet over the foot of a narrow screen: its row must not be under it. A list that comes
  // anew, by a refresh or the way back, begins at its top: the chosen row is brought into sight.
  const sheet = matchMedia("(max-width: 900px)");
  on("htmx:after:settle", (event) => {
    if (event.target.matches("body, #catalog") || (event.target.id === "explain" && sheet.matches)) $("#main tr.on, #main tr.frame--on")?.scrollIntoView({ block: "nearest" });
    // Rows with their tokens were asked for before a click chose another.
    const row = event.target.matches("[id^=rows-]") && document.getElementById(chosen);
    if (row && !isOn(row)) select(row);
  });

  on("htmx:after:settle", refresh);

  // Whether the console is there. The page asks every two seconds (#pulse); two answers that do not come in a row,
  // or sockets that cannot be opened, mean that it has stopped. Said once, in the status line.
  let missing = 0;
  let kept = null;

  function announce(id) {
    const place = $("#status");
    const words = document.getElementById(id)?.content;
    if (!place || !words || place.dataset.said === id) return;
    kept ??= place.innerHTML;
    place.dataset.said = id;
    place.replaceChildren(words.cloneNode(true));
    say(place.textContent.trim());
  }

  function miss() {
    missing += 1;
    if (missing >= 2) announce("not-running");
  }

  function answered(status) {
    if (status === 401) return announce("signed-out");
    const place = $("#status");
    missing = 0;
    if (!place?.dataset.said) return;
    delete place.dataset.said;
    if (kept !== null && !$(".say:not(.is-gone)", place)) place.innerHTML = kept;
    kept = null;
  }

  on("htmx:ws:error", miss);
  on("htmx:after:request", (event) => {
    const status = event.detail?.ctx?.response?.status ?? event.detail?.ctx?.response?.raw?.status;
    if (status) answered(status);
  });

  on("htmx:error", (event) => {
    const ctx = event.detail?.ctx;
    if (ctx?.response || !ctx?.request) return;
    miss();
    const asked = ctx.sourceElement?.getAttribute?.("hx-trigger") ?? "";
    if (/every|htmx:|load|revealed|intersect|stale/.test(asked)) return; // nobody pressed anything
    missing = Math.max(missing, 2);
    announce("not-running");
    toast("Not done: Loupe is not running.", true);
  });

  on("toast", (event) => toast(event.detail?.text ?? "", Boolean(event.detail?.error)));

  function refresh() {
    prepare();
    watchFollow();
    tick();
  }

  const shown = $("tr.on, tr.frame--on");
  shown?.scrollIntoView({ block: "nearest" });
  if (shown?.classList.contains("frame")) drawPair(shown);
  $(".srv--on")?.scrollIntoView({ block: "nearest" });
  if ($("#keys-on")) $("#keys-on").checked = store.get("keys") !== "off";
  narrow.addEventListener("change", paintPin);
  paintPin();
  refresh();
  setInterval(tick, 1000);
})();
htmx.process(document.body);
