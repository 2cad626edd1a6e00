/**
 * The page: messages of the server become state, the address chooses the view, thirty times a second the view draws.
 *
 * Addresses: #/ward, #/bed/ID. For tests and benches, `window.beatwire` is a read-only view of what was received and
 * drawn (`state`), and of what it cost (`stats`).
 */

import { Alarms } from "./alarms.js";
import { Bed } from "./bed.js";
import { Connection } from "./connection.js";
import { PROTOCOL, decodeFrame } from "./protocol.js";
import { Stats } from "./stats.js";
import { Store } from "./store.js";
import { clockTime, countdown, setText } from "./text.js";
import { Ward } from "./ward.js";

const UNANALYSED = "Neither beats nor alerts come for 15 s: does a monitor run?";
const FRAME_MS = 1000 / 30;
const SHOWN_MS = 10_000;

const at = (id) => document.getElementById(id);
const properties = getComputedStyle(document.documentElement);
const colours = Object.fromEntries(["paper", "surface", "line", "text", "label", "trace", "grid", "grid-strong", "class-s", "class-v"]
  .map((name) => [name, properties.getPropertyValue(`--${name}`).trim()]));
colours.ink = colours.trace;

const store = new Store();
const stats = new Stats();
const alarms = new Alarms({ counts: at("counts"), elsewhere: at("elsewhere"), announce: at("announce"), sound: at("sound"), pause: at("pause") });
const connection = new Connection({ state: onState, json: onJson, frame: onFrame });
const ward = new Ward(store, { only: at("only"), compact: at("compact") }, {
  ask: (part) => connection.send({ type: "ward", ...part }),
  watch: (ids) => watch(ids, "first"),
}, colours);
const bed = new Bed(store, {
  watch: (id) => watch([id], "all"),
  acknowledge: (alert, stream, by) => connection.send({ type: "ack", alert, stream, by }),
  askLimits: (stream) => connection.send({ type: "limits", stream }),
  setLimits: (stream, limits, by) => connection.send({ type: "set limits", stream, limits, by }),
}, colours);

const page = { state: "connecting", nextMs: 0, reason: "", hasFailed: false, loaded: false, streams: 0, view: null, lag: 0, lagMs: -Infinity,
  error: "", errorMs: -Infinity, hasBroker: true, isOther: false, isWhole: false, hasNewAlarms: false, unanalysed: 0 };

function watch(ids, leads) {
  store.watch(ids, performance.now());
  connection.send({ type: "watch", streams: ids, leads, beats: leads === "all" });
}

function onState(state, nextMs, reason) {
  page.state = state;
  page.nextMs = nextMs;
  page.hasFailed = state === "waiting" || (page.hasFailed && state === "connecting");
  if (state !== "connecting") page.reason = reason;
  document.body.classList.toggle("disconnected", state !== "open");
  bed.setOpen(state === "open");
  showLoss();
}

function showLoss() {
  const isOpen = page.state === "open";
  const lost = isOpen ? "The server has lost Kafka: what is shown is old." : "The server is lost: what is shown is old.";
  alarms.setLost(page.loaded && !(isOpen && page.hasBroker) ? lost : "", performance.now());
  showTitle();
}

function showTitle() {
  document.title = [alarms.gravest, page.view === bed && bed.id, "beatwire"].filter(Boolean).join(" - ");
}

function onHello(message) {
  store.reconnected();
  page.isWhole = false; // until the alerts of all streams have come: the first ward follows them
  store.setClock(message.now_us);
  page.isOther = message.protocol !== PROTOCOL;
  bed.setWritable(message.writable);
  ward.resume();
  if (page.view === bed) bed.resume();
}

function onWard(message) {
  store.setClock(message.now_us);
  page.loaded = true;
  page.isWhole = true;
  page.streams = message.streams;
  page.total = message.total;
  page.hasBroker = message.broker !== "disconnected";
  page.unanalysed = page.hasBroker ? message.unanalysed : 0;
  for (const described of message.beds) store.setBed(described);
  ward.update(message);
  alarms.setUnanalysed(page.unanalysed ? UNANALYSED : "", performance.now());
  alarmsChanged();
  showLoss();
}

function alarmsChanged() {
  page.hasNewAlarms = false;
  if (!page.isWhole) return;
  alarms.update(store.alerts, performance.now());
  showTitle();
  if (page.view === bed) bed.update();
}

const handlers = {
  hello: onHello,
  ward: onWard,
  bed: (message) => {
    store.setClock(message.now_us);
    page.loaded = true;
    if (message.bed) store.setBed(message.bed);
    if (message.stream === bed.id) bed.found(message.bed !== null);
    alarmsChanged();
  },
  alerts: (message) => {
    store.setAlerts(message.stream, message.alerts);
    ward.tiles.get(message.stream)?.update();
    page.hasNewAlarms = true; // a thousand may come at once; without frames the ward, which follows, has them counted
  },
  beats: (message) => {
    store.streams.get(message.stream)?.addBeats(message.beats);
    if (page.view === bed) bed.beatsChanged();
  },
  lag: (message) => {
    page.lag = message.dropped;
    page.lagMs = performance.now();
  },
  ack: () => {},
  limits: (message) => bed.showLimits(message),
  error: (message) => {
    if (/^(set )?limits(:| of )/.test(message.text)) bed.limits.fail(message.text);
    page.error = message.text;
    page.errorMs = performance.now();
  },
};

function onJson(message, bytes) {
  const began = performance.now();
  handlers[message.type]?.(message);
  stats.message(bytes, performance.now() - began);
}

function onFrame(buffer) {
  const began = performance.now();
  const frame = decodeFrame(buffer);
  store.addBlocks(frame.blocks, began);
  connection.send({ type: "seen", number: frame.number });
  stats.message(buffer.byteLength, performance.now() - began);
}

/** Choose the view by the address. */
function route() {
  const [, kind, id] = /^#\/(bed)\/(.+)$/.exec(location.hash) ?? [];
  const next = kind ? bed : ward;
  if (page.view && page.view !== next) page.view.hide();
  page.view = next;
  if (next === bed) bed.show(decoded(id));
  else ward.show();
  for (const part of [at("query").parentElement, at("only"), at("compact")]) part.hidden = next === bed;
  alarms.setShown(next === bed ? bed.id : "");
  showTitle();
}

/** A part of an address as it is meant; one that somebody typed may not be encoded. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function notice() {
  if (page.state === "denied") {
    return "Access denied.\nOpen the address that beatwire dashboard printed: it holds the token.";
  }
  if (!page.loaded) return page.hasFailed ? page.reason || "The server does not answer." : "Loading the ward.";
  if (page.view === bed) return bed.missing ? `There is no stream ${bed.id}.\nEsc returns to the ward.` : "";
  if (page.streams === 0) return "No streams yet.\nStart a feed: beatwire replay synthetic --bootstrap-servers HOST:PORT";
  if (page.total) return "";
  const all = ward.alarmsOnly ? "\nAlarms only: o shows all." : "";
  if (ward.query) return `No stream has "${ward.query}" in its name.${all}\nEsc clears the search.`;
  return ward.alarmsOnly ? `No bed has an alarm.${all}` : "";
}

/** What the line above the page says to all, and what to the eye alone: a countdown, and a loss that was announced. */
function banner(nowMs) {
  if (page.state === "waiting") return ["", `${page.reason || "Disconnected"}, trying again in ${countdown((page.nextMs - nowMs) / 1000)}`];
  if (page.state === "connecting" && page.loaded) return ["", "Disconnected, trying again now"];
  if (page.loaded && !page.hasBroker) return ["", `${alarms.lost} It tries again by itself.`];
  const text = warning(nowMs);
  return text || !page.unanalysed ? [text, ""] : ["", `${page.unanalysed} of ${page.streams} not analysed. ${UNANALYSED}`];
}

function warning(nowMs) {
  if (page.state === "denied") return "";
  if (page.isOther) return "The server is of another version: reload this page.";
  if (nowMs - page.errorMs < SHOWN_MS) return page.error;
  if (nowMs - page.lagMs < SHOWN_MS) return `This browser is too slow: ${page.lag} samples were left out`;
  return "";
}

function showText(at_, text) {
  setText(at_, text);
  at_.hidden = text === "";
}

function showStates(nowMs) {
  const [said, unsaid] = banner(nowMs);
  setText(at("said"), said);
  setText(at("unsaid"), unsaid);
  at("banner").hidden = said + unsaid === "";
  const text = notice();
  showText(at("notice"), text);
  const hidden = text !== "";
  if (at("ward").hidden !== (hidden || page.view !== ward)) at("ward").hidden = hidden || page.view !== ward;
  if (at("bed").hidden !== (hidden || page.view !== bed)) at("bed").hidden = hidden || page.view !== bed;
  setText(at("clock"), clockTime(store.nowUs()));
  setText(at("total"), page.streams === 1 ? "1 stream" : `${page.streams} streams`);
}

let lastMs = 0;
function frame(nowMs) {
  requestAnimationFrame(frame);
  if (nowMs - lastMs < FRAME_MS - 5) return;
  lastMs = nowMs;
  const began = performance.now();
  if (page.hasNewAlarms) alarmsChanged();
  alarms.tick(nowMs);
  showStates(nowMs);
  if (page.loaded) page.view.draw(began);
  stats.frame(began, performance.now() - began);
}

function onKey(event) {
  const typing = event.target.matches?.("input");
  if (event.key === "Escape") escape(event, typing);
  if (typing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return; // a key that is held is pressed once
  const action = { "/": focusSearch, m: () => alarms.toggleSound(), o: () => ward.toggleOnly(), l: () => ward.toggleCompact(), p: () => alarms.togglePause() }[event.key];
  if (action) {
    event.preventDefault();
    action();
  } else if (event.key === "a" && page.view === bed) {
    event.preventDefault();
    bed.acknowledgeFirst();
  }
}

function escape(event, typing) {
  if (event.target === at("query")) {
    at("query").value = "";
    ward.search("");
    event.target.blur();
  } else if (typing) event.target.blur();
  else if (page.view === bed) location.hash = "#/ward";
}

function focusSearch() {
  if (page.view === bed) location.hash = "#/ward";
  at("query").parentElement.hidden = false;
  at("query").focus();
}

/** What a stream's trace shows, read by tests. */
function stateOf(id) {
  const stream = store.streams.get(id);
  const trace = page.view.drawn().get(id);
  if (!stream?.ring || trace?.generation !== stream.ring.generation) return null; // not drawn yet
  const from = Math.max(trace.from, stream.ring.oldest);
  return Object.freeze({
    first: from, drawn: trace.drawn, newest: stream.ring.end, samples: [...stream.ring.slice(0, from, trace.drawn)],
    gain: trace.gain, jumps: stream.playhead.jumps, silent: stream.isSilent(performance.now()),
  });
}

window.beatwire = Object.freeze({
  get stats() { return stats.read(); },
  get state() { return Object.freeze({ connection: page.state, drawn: [...page.view.drawn().keys()], of: stateOf }); },
});

at("query").addEventListener("input", (event) => ward.search(event.target.value.trim()));
addEventListener("keydown", onKey);
addEventListener("hashchange", route);
route();
connection.open();
requestAnimationFrame(frame);
