// The actions of a room: which of them a row can fill, and a form for what it cannot.

import { act } from "./api.js";
import { h, words } from "./dom.js";
import { result } from "./results.js";

// What a row tells of an action's fields: by its keys, and by what all rows of the table have in common.
export function valuesOf(table, row) {
  const keys = table.keys.map((key) => [key, row[table.columns.indexOf(key)]]);
  return { ...table.fixed, ...Object.fromEntries(keys) };
}

// Actions that are about a row: they use one of its keys, and it fills whatever is a key of any table.
export function fitting(panel, table) {
  const keys = new Set(panel.tables.flatMap((one) => one.keys));
  const known = new Set([...table.keys, ...Object.keys(table.fixed)]);
  return Object.fromEntries(Object.entries(panel.actions).filter(([, action]) =>
    action.fields.some((field) => table.keys.includes(field.name))
    && action.fields.every((field) => !field.required || !keys.has(field.name) || known.has(field.name))));
}

// Buttons, the form of the one that needs more, and what came of it. `done` is called after each.
export function actionBar(room, actions, values, suggestions, done) {
  const form = h("div"), answer = h("div");
  const buttons = Object.entries(actions).map(([name, action]) => {
    const open = action.fields.filter((field) => !(field.name in values));
    const run = (typed) => perform(room, name, action, { ...filled(action, values), ...typed }, answer, done);
    const press = () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button && open.length > 0)));
      form.replaceChildren(...(open.length ? [fieldsOf(name, open, suggestions, run)] : []));
      if (open.length === 0) run({});
      else form.querySelector("input, textarea")?.focus();
    };
    const button = h("button", { type: "button", class: action.danger ? "danger" : null, onclick: press }, words(name));
    return button;
  });
  return h("div", {}, h("div", { class: "buttons" }, buttons), form, answer);
}

export function filled(action, values) {
  return Object.fromEntries(action.fields.filter((field) => field.name in values)
    .map((field) => [field.name, values[field.name]]));
}

async function perform(room, name, action, fields, answer, done) {
  const about = Object.values(fields).filter((value) => typeof value === "string").join(", ");
  if (action.danger && !confirm(`${words(name)}: ${about || room}?`)) return;
  try {
    answer.replaceChildren(result(await act(room, name, fields)));
  } catch (refused) {
    answer.replaceChildren(h("div", { class: "result failed" }, h("p", {}, refused.message)));
  }
  done();
}

function fieldsOf(name, fields, suggestions, run) {
  const inputs = fields.map((field) => [field, input(field)]);
  const submit = (event) => {
    event.preventDefault();
    const typed = inputs.map(([field, control]) => [field.name, read(field, control)]);
    run(Object.fromEntries(typed.filter(([, value]) => value !== undefined)));
  };
  const labels = inputs.map(([field, control]) => {
    const list = datalist(field, control, suggestions[field.name]);
    const kind = control.tagName === "TEXTAREA" ? "wide" : field.kind === "boolean" ? "check" : null;
    return h("label", { class: kind }, words(field.name) + (field.required ? "" : " (optional)"), control, list);
  });
  return h("form", { onsubmit: submit }, labels, h("button", { class: "run" }, words(name)));
}

function input(field) {
  const common = { name: field.name, autocomplete: "off", required: field.required };
  if (field.kind === "boolean") return h("input", { type: "checkbox", name: field.name });
  if (field.kind === "json" || field.name === "sql") return h("textarea", { ...common, spellcheck: "false" });
  if (field.kind === "number") return h("input", { ...common, type: "number", step: "any" });
  return h("input", { ...common, type: "text" });
}

function datalist(field, control, suggested) {
  if (!suggested || field.kind === "boolean" || control.tagName === "TEXTAREA") return null;
  const id = `suggestions-${field.name}`;
  control.setAttribute("list", id);
  return h("datalist", { id }, [...suggested].slice(0, 100).map((value) => h("option", { value })));
}

// undefined: left out. Of JSON that is only a text, the text itself.
function read(field, control) {
  if (field.kind === "boolean") return control.checked || undefined;
  if (control.value === "") return field.required ? "" : undefined;
  if (field.kind === "number") return Number(control.value);
  if (field.kind !== "json") return control.value;
  try {
    const value = JSON.parse(control.value);
    return typeof value === "string" ? control.value : value;
  } catch {
    return control.value;
  }
}
