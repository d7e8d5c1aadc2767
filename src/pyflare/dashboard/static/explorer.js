// The page: asks the server for the panel of the room that is shown, again and again while somebody looks, and redraws
// what has changed. Where it is, the part of the URL behind # says.

import { actionBar, filled, fitting, valuesOf } from "./actions.js";
import { act, panels } from "./api.js";
import { h } from "./dom.js";
import { facts, result } from "./results.js";
import { grid } from "./tables.js";

const EVERY_MS = 2000;
const SHARE = 10; // a server that is slow to answer is asked less often: it answers a tenth of the time at most
const OVERVIEW = "overview";

const main = document.getElementById("room"), nav = document.getElementById("rooms");
const state = { workers: [], bindings: [], rooms: {}, complete: false };
let drawn = { room: null, text: null };
let opened = new Map(), bottom = null;

const current = () => (location.hash.slice(1) in state.rooms ? location.hash.slice(1) : OVERVIEW);

// --- asking -------------------------------------------------------------------------------------------------------------

let timer = 0, asking = false;

async function poll() {
  clearTimeout(timer);
  if (asking) return;
  asking = true;
  const began = performance.now();
  try {
    const room = current(), part = state.complete && room !== OVERVIEW;
    const found = await panels(part ? room : null);
    Object.assign(state, found, { rooms: part ? { ...state.rooms, ...found.rooms } : found.rooms, complete: true });
    say("live", "live");
    draw();
  } catch (failed) {
    state.complete = false; // it may come back with other rooms
    say("gone", failed instanceof TypeError ? "the server does not answer" : failed.message);
  }
  asking = false;
  const wait = Math.max(EVERY_MS, (performance.now() - began) * SHARE);
  if (!document.hidden) timer = setTimeout(poll, wait);
}

function say(kind, text) {
  const status = document.getElementById("status");
  if (status.textContent !== text) status.textContent = text;
  status.className = kind;
}

// --- drawing ------------------------------------------------------------------------------------------------------------

function draw() {
  const room = current();
  const text = JSON.stringify(room === OVERVIEW ? [state.workers, state.bindings, Object.keys(state.rooms)] : state.rooms[room]);
  if (drawn.room === room && drawn.text === text) return;
  if (drawn.room !== room) {
    opened = new Map();
    bottom = null;
  }
  drawn = { room, text };
  document.getElementById("workers").textContent = state.workers.join(", ");
  drawNav(room);
  const focused = document.activeElement;
  main.replaceChildren(...(room === OVERVIEW ? overview() : panel(room, state.rooms[room])));
  if (main.contains(focused)) focused.focus(); // in a part that was kept
}

function drawNav(room) {
  const shown = Object.entries(state.rooms).filter(([, one]) => one.tables.length || Object.keys(one.actions).length);
  const links = [[OVERVIEW, "Overview"], ...shown.map(([name, one]) => [name, one.title])];
  nav.replaceChildren(...links.map(([name, title]) =>
    h("a", { href: `${location.pathname}#${name}`, "aria-current": name === room ? "page" : null }, title)));
}

function overview() {
  const rows = state.bindings.map((row) => [row.name, row.kind, row.resource, row.where]);
  const api = `${location.origin}/cdn-cgi/local/explorer/api`;
  return [
    h("h2", {}, "Overview"),
    section("Bindings", grid(["binding", "kind", "resource", "mode"], rows), rows.length),
    h("section", {}, h("h3", {}, "REST API"), h("div", {}, facts({
      "all panels": `curl ${api}/local/panels`,
      "every path (OpenAPI)": `curl ${api}`,
      "Durable Objects": `curl ${location.origin}/cdn-cgi/local/durable-objects`,
    }))),
  ];
}

function panel(room, one) {
  const suggestions = suggestionsOf(one);
  bottom ??= actionBar(room, one.actions, {}, suggestions, poll);
  const tables = one.tables.map((table) => {
    const actions = fitting(one, table);
    const open = Object.keys(actions).length
      ? (row) => below(room, actions, table, row, suggestions)
      : null;
    const key = (row) => JSON.stringify(valuesOf(table, row));
    return section(table.title, grid(table.columns, table.rows, open, key, opened), table.rows.length);
  });
  const all = Object.keys(one.actions).length ? [h("section", {}, h("h3", {}, "Actions"), bottom)] : [];
  return [h("h2", {}, one.title), ...tables, ...all];
}

function below(room, actions, table, row, suggestions) {
  const values = valuesOf(table, row);
  const cut = Object.fromEntries(table.columns.map((column, at) => [column, row[at]])
    .filter(([, value]) => typeof value === "string" && value.length > 26 && !value.includes(" ")));
  const parts = [Object.keys(cut).length ? facts(cut) : null];
  if (actions.describe) { // what a room calls so is what one wants to see first
    const { describe, ...others } = actions;
    const place = h("div", { class: "result" }, "…");
    act(room, "describe", filled(describe, values)).then((found) => place.replaceWith(result(found)))
      .catch((refused) => place.replaceChildren(refused.message));
    return h("div", {}, parts, place, actionBar(room, others, values, suggestions, poll));
  }
  parts.push(actionBar(room, actions, values, suggestions, poll));
  return h("div", {}, parts);
}

function suggestionsOf(one) {
  const found = {};
  for (const table of one.tables) {
    for (const [name, value] of Object.entries(table.fixed)) (found[name] ??= new Set()).add(value);
    for (const key of table.keys) {
      const at = table.columns.indexOf(key);
      for (const row of table.rows) (found[key] ??= new Set()).add(row[at]);
    }
  }
  return found;
}

function section(title, table, count) {
  const body = count ? h("div", { class: "scroll" }, table) : h("p", { class: "nothing" }, "Nothing here yet");
  return h("section", {}, h("h3", {}, title), body);
}

addEventListener("hashchange", () => {
  draw();
  main.focus({ preventScroll: true });
  poll();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
poll();
