// What an action gave: a table for rows, a time line for steps, text as it is, JSON for the rest.

import { grid } from "./tables.js";
import { h, shown, words } from "./dom.js";

export function result(value) {
  return h("div", { class: "result" }, inner(value));
}

function inner(value) {
  if (value === null || value === undefined) return h("p", {}, "Done");
  if (typeof value === "string") return h("pre", {}, value || "(empty)");
  if (typeof value !== "object") return h("p", {}, shown(value));
  if (isRows(value)) return rows(value);
  const lists = Object.entries(value).filter(([, one]) => isRows(one));
  if (Array.isArray(value.steps)) return steps(value);
  if (lists.length === 1) return rows(lists[0][1]);
  if (Array.isArray(value)) return value.length ? json(value) : h("p", {}, "Nothing found");
  return h("div", {}, facts(plain(value)), everything(value));
}

const json = (value) => h("pre", {}, JSON.stringify(value, null, 2));

const isPlain = (one) => one !== null && one !== undefined && typeof one !== "object";
const plain = (value) => Object.fromEntries(Object.entries(value).filter(([, one]) => isPlain(one)));

// All of a value, folded away, where a part of it does not say everything.
function everything(value) {
  if (Object.values(value).every((one) => one === null || isPlain(one))) return null;
  return h("details", {}, h("summary", {}, "Everything"), json(value));
}

const isRows = (value) => Array.isArray(value) && value.length > 0
  && value.every((one) => one && typeof one === "object" && !Array.isArray(one));

function rows(list) {
  const columns = [...new Set(list.flatMap((one) => Object.keys(one)))];
  return grid(columns, list.map((one) => columns.map((column) => one[column] ?? null)));
}

export function facts(value) {
  return h("dl", {}, Object.entries(value).flatMap(([name, one]) => [h("dt", {}, words(name)), h("dd", {}, shown(one))]));
}

// --- the time line of a workflow's instance ---------------------------------------------------------------------------

function steps(instance) {
  const list = instance.steps;
  const moments = list.flatMap((step) => [step.start, step.end ?? new Date().toISOString()]).map(Date.parse);
  const first = Math.min(...moments), span = Math.max(Math.max(...moments) - first, 1);
  const lines = list.flatMap((step) => line(step, first, span));
  return h("div", {},
    h("div", { class: "line" }, lines.length ? lines : h("span", {}, "No step yet")),
    everything(instance));
}

function line(step, first, span) {
  const start = Date.parse(step.start), end = step.end ? Date.parse(step.end) : Date.now();
  const state = step.error ? "failed" : step.end ? "" : "open";
  const bar = h("span", { class: `bar ${state}`, title: `${step.start} – ${step.end ?? step.state}` });
  bar.style.left = `${Math.min(99, (start - first) / span * 100)}%`;
  bar.style.width = `${Math.max(0, end - start) / span * 100}%`;
  const about = [step.type === "step" ? null : words(step.type), step.end ? null : step.state,
    step.attempts?.length > 1 ? `${step.attempts.length} attempts` : null, step.due && !step.end ? `until ${step.due}` : null];
  const small = about.filter(Boolean).join(", ");
  const parts = [
    h("span", { class: "name" }, step.name, small ? h("small", {}, small) : null),
    h("span", { class: "track" }, bar),
    h("span", { class: "took" }, step.end ? duration(end - start) : "…"),
  ];
  const output = step.output === null || step.output === undefined ? null : JSON.stringify(step.output);
  if (output) parts[0].title = output;
  if (step.error) parts.push(h("p", { class: "said" }, `${step.error.name}: ${step.error.message}`));
  return parts;
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${(ms / 60_000).toFixed(1)} min`;
  return ms < 86_400_000 ? `${(ms / 3_600_000).toFixed(1)} h` : `${(ms / 86_400_000).toFixed(1)} days`;
}
