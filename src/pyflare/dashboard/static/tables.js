// Tables. `open(row)` gives what is shown below a row that is opened, or null where there is nothing to do.

import { h, shown, words } from "./dom.js";

const LONG = 26; // characters of an id, from which on it is cut
const ID = /^[\w-]+$/, TIME = /^(\w{3} )?\d{4}-\d\d-\d\d[T ][\d:.]+( UTC|Z)?$/;

export function grid(columns, rows, open = null, key = (row) => JSON.stringify(row), opened = new Map()) {
  const numeric = columns.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === "number"));
  const head = columns.map((column, at) => h("th", { class: numeric[at] ? "number" : null }, words(column)));
  const body = rows.flatMap((row) => {
    const cells = row.map((value, at) => cell(value, numeric[at]));
    return open ? expandable(row, cells, open, key(row), opened) : [h("tr", { class: "row" }, cells)];
  });
  return h("table", {},
    h("thead", {}, h("tr", {}, open ? h("th", { class: "toggle" }) : null, head)),
    h("tbody", {}, body));
}

// The part below a row is kept while it is open, so that what is typed in it outlives a redrawing of the table.
function expandable(row, cells, open, id, opened) {
  const toggle = h("button", { type: "button", class: "toggle", "aria-label": "Actions", "aria-expanded": "false" }, "▸");
  const line = h("tr", { class: "row acts" }, h("td", { class: "toggle" }, toggle), cells);
  const set = (isOpen) => {
    line.classList.toggle("open", isOpen);
    toggle.textContent = isOpen ? "▾" : "▸";
    toggle.setAttribute("aria-expanded", String(isOpen));
  };
  line.addEventListener("click", () => {
    if (String(getSelection())) return; // somebody copies a text
    const below = opened.get(id);
    if (below) {
      opened.delete(id);
      below.remove();
    } else {
      opened.set(id, h("tr", { class: "detail" }, h("td", { colspan: cells.length + 1 }, open(row))));
      line.after(opened.get(id));
    }
    set(!below);
  });
  set(opened.has(id));
  return opened.has(id) ? [line, opened.get(id)] : [line];
}

function cell(value, numeric) {
  const text = shown(value);
  const classes = [
    numeric ? "number" : null,
    text === "–" ? "none" : null,
    value !== null && typeof value === "object" ? "code" : null,
    text.length > LONG && ID.test(text) ? "code cut" : null,
    TIME.test(text) || text.split("\n").every((line) => TIME.test(line)) ? "time" : null,
    text.includes(" ") && text.length > LONG ? "prose" : null,
  ];
  return h("td", { class: classes.filter(Boolean).join(" ") || null, title: text.length > LONG ? text : null }, text);
}
