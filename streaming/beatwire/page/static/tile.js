/**
 * One bed of the ward: trace, rate, quality, last beats, alert in force.
 *
 * In: a Stream. Out: one list item. Text changes only when it differs; the trace draws only what is new.
 */

import { SweepTrace } from "./trace.js";
import { PX_PER_MM, alarmLine, byPriority, element, figure, humText, isStrange, letter, parts, setText, standing } from "./text.js";

const SWEEP_S = 6;
const ID_END = 6; // letters of an id that are always shown: beds differ at the end
const LATIN = /^[ -~\u00a0-\u024f]*$/;
const GAINS = [20, 10, 5, 2.5, 1.25, 0.6]; // mm/mV

/** The class in the style sheet of a beat's letter. @param {{beat_class: string|null}} beat */
const nameOf = (beat) => (beat.beat_class ? `class-${beat.beat_class.toLowerCase()}` : "");

/** The lead that is drawn, and the hum of the lead with most of it, e.g. "II, V1 hum 50 Hz 0.4 mV". @param {any} bed */
function leadText({ leads, hum }) {
  const size = (k) => (hum[k] ? hum[k].mv ?? 0 : -1);
  const most = hum.reduce((best, _, k) => (size(k) > size(best) ? k : best), 0);
  if (!hum[most]) return leads[0] ?? "";
  return `${leads[0]}, ${most ? `${leads[most]} ` : ""}${humText(hum[most])}`;
}

/** The gravest alert; beside it, if somebody has acknowledged it, the gravest that nobody has. @param {any[]} alerts in order */
function alarmLines(alerts) {
  const open = alerts.find((alert) => alert.state !== "ack");
  const shown = [...new Set([alerts[0], open])].filter(Boolean);
  return shown.map((alert, k) => alarmLine(alert, k === shown.length - 1 ? alerts.length - shown.length : 0, alert.short ?? parts(alert)[0]));
}

export class Tile {
  /**
   * @param {HTMLTemplateElement} template
   * @param {import("./store.js").Stream} stream
   * @param {{ink: string, surface: string}} colours
   */
  constructor(template, stream, colours) {
    this.stream = stream;
    this.item = template.content.firstElementChild.cloneNode(true);
    this.link = this.item.firstElementChild;
    this.link.href = `#/bed/${encodeURIComponent(stream.id)}`;
    this.item.dataset.stream = stream.id;
    const part = (name) => this.item.querySelector(name);
    this.parts = {
      rate: part(".rate"), signal: part(".tile-signal"), lead: part(".tile-lead"), beats: part(".tile-beats"),
      state: part(".tile-state"), alert: part(".tile-alert"),
    };
    const end = LATIN.test(stream.id) ? stream.id.slice(-ID_END) : ""; // what is written the other way is not parted
    part(".tile-id").append(element("span", "begin", stream.id.slice(0, stream.id.length - end.length)), end);
    this.link.title = stream.id;
    this.trace = new SweepTrace(part("canvas"), {
      ink: colours.ink, paper: colours.surface, lineWidth: 1.5, seconds: SWEEP_S, pxPerMm: PX_PER_MM, gains: GAINS, room: 0.75,
    });
    this.visible = false;
    this.ring = null;
    this.stateText = "";
  }

  /** Show the bed as the server last described it. */
  update() {
    const { bed } = this.stream;
    const { bpm, quality } = this.stream.isSilent(performance.now()) ? { bpm: null, quality: null } : bed;
    setText(this.parts.rate, figure(bpm));
    this.parts.rate.classList.toggle("unknown", bpm === null);
    setText(this.parts.signal, `quality ${quality === null ? "--" : `${Math.round(100 * quality)} %`}`);
    setText(this.parts.lead, leadText(bed));
    this.#showBeats(bed);
    this.#showAlerts(bed, bpm);
  }

  #showBeats(bed) {
    const text = `${bed.beats.map((beat) => letter(beat) + nameOf(beat)).join("")} ${figure(bed.score, 1)}`;
    if (text === this.beatsText) return;
    this.beatsText = text;
    const letters = bed.beats.map((beat) => element(isStrange(beat) ? "b" : "span", nameOf(beat), letter(beat)));
    this.parts.beats.replaceChildren(...letters, element("span", "score", `score ${figure(bed.score, 1)}`));
  }

  #showAlerts(bed, bpm) {
    const alerts = byPriority(bed.alerts);
    const text = alerts.map((alert) => alert.id + alert.state + alert.text).join();
    const spoken = alerts.map((alert) => `${alert.priority} alert ${parts(alert)[0]} ${standing(alert)}`).join(", ");
    const label = `${bed.stream}, rate ${figure(bpm)} per minute, ${spoken || "no alert"}`;
    if (this.link.getAttribute("aria-label") !== label) this.link.setAttribute("aria-label", label);
    if (text === this.alertText) return;
    this.alertText = text;
    this.link.classList.remove("high", "medium", "low");
    if (alerts.length) this.link.classList.add(alerts[0].priority);
    this.parts.alert.replaceChildren(...alarmLines(alerts));
  }

  /**
   * Draw the new samples.
   * @param {number} nowMs
   * @param {number} nowUs clock of the server
   */
  draw(nowMs, nowUs) {
    const { stream, trace } = this;
    this.#showState(nowMs, nowUs);
    if (!stream.ring) return;
    if (stream.ring !== this.ring) {
      this.ring = stream.ring;
      trace.restart();
    }
    trace.draw(stream.ring, 0, stream.playhead.advance(nowMs, stream.ring.end));
  }

  #showState(nowMs, nowUs) {
    const standstill = this.stream.standstill(nowMs, nowUs);
    const text = standstill || this.stream.notAnalysed();
    if (text === this.stateText) return;
    this.stateText = text;
    this.link.classList.toggle("silent", standstill !== "");
    this.parts.state.hidden = text === "";
    setText(this.parts.state, text);
    this.update();
  }
}
