/**
 * What the page has received: streams with their samples, beats and alerts.
 *
 * In: messages of the server. State: one Stream for each bed that was named; samples only of those that are watched.
 * Nothing here draws.
 */

import { Playhead } from "./clock.js";
import { SampleRing } from "./ring.js";
import { byPriority, parts, since } from "./text.js";

const KEPT_S = 30;
const SILENT_MS = 2500;
const MOST_EARLY = 256; // blocks
const TACHOGRAM_US = 600e6;

/** @typedef {{id: string, rule: string, priority: "high"|"medium"|"low", technical: boolean, state: string,
 *   onset_us: number, decided_us: number, text: string, short: string, definition: string|null, prevents: string, reminders: number|null,
 *   ack_by: string|null, ack_us: number|null}} Alert */
/** @typedef {{sample: number, time_us: number, rr_ms: number, bpm: number, score: number|null, quality: number,
 *   class: string, beat_class: string|null, x: number|null, y: number|null}} Beat */

export class Stream {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    /** Last state of the bed, as the server sent it. @type {any} */
    this.bed = null;
    /** @type {SampleRing|null} */
    this.ring = null;
    /** @type {Playhead|null} */
    this.playhead = null;
    /** Last ten minutes, in the order of time. @type {Beat[]} */
    this.beats = [];
    this.arrivedMs = -Infinity;
    this.watchedMs = Infinity;
  }

  /**
   * Store a block of samples.
   * @param {import("./protocol.js").Block} block
   * @param {number} nowMs
   */
  write(block, nowMs) {
    const { ring } = this;
    if (!ring || ring.leads.length !== block.leads.length || ring.rateHz !== block.rateHz) {
      this.ring = new SampleRing(block.leads.length, block.rateHz, KEPT_S);
      this.playhead = new Playhead(block.rateHz);
    }
    const generation = this.ring.generation;
    this.ring.write(block);
    if (this.ring.generation !== generation) this.playhead.restart();
    this.arrivedMs = nowMs;
  }

  /**
   * Add beats, the newest last; those of more than ten minutes before it are removed, and those after it: the device's
   * clock was set back.
   * @param {Beat[]} beats
   */
  addBeats(beats) {
    if (!beats.length) return;
    const last = this.beats.length ? this.beats[this.beats.length - 1].time_us : -Infinity;
    const newest = beats[beats.length - 1].time_us;
    const sorted = beats.every((beat, k) => beat.time_us > (k ? beats[k - 1].time_us : last));
    this.beats.push(...beats);
    if (!sorted) this.beats = inOrder(this.beats.filter((beat) => beat.time_us <= newest));
    const keep = this.beats.findIndex((beat) => beat.time_us >= newest - TACHOGRAM_US);
    if (keep > 0) this.beats.splice(0, keep);
  }

  /** True if samples should arrive and do not. @param {number} nowMs */
  isSilent(nowMs) {
    if (this.bed?.state === "stale") return true;
    return nowMs - Math.max(this.arrivedMs, Math.min(this.watchedMs, nowMs)) > SILENT_MS;
  }

  /** What the trace says when it does not move; empty while it does. @param {number} nowMs @param {number} nowUs */
  standstill(nowMs, nowUs) {
    if (this.isSilent(nowMs)) {
      const heard = this.arrivedMs > 0 ? nowUs - (nowMs - this.arrivedMs) * 1000 : Infinity;
      const sinceUs = Math.min(this.bed.arrived_us ?? Infinity, heard);
      if (sinceUs < Infinity) return `no data since ${since(sinceUs, nowUs)}`;
      const reason = byPriority(this.bed.alerts).find((alert) => alert.technical && alert.state !== "latched");
      return reason ? parts(reason)[0].split(": ").pop() : "no data"; // of the feed, too, which is no bed
    }
    if (this.bed.state === "lead off") return "lead off";
    return this.ring || this.watchedMs === Infinity ? "" : "waiting for samples"; // what nobody watches has none
  }

  /** Why a bed whose samples come is not analysed; empty if it is. */
  notAnalysed() {
    const reason = this.bed.alerts.find((alert) => alert.prevents === "analysis" && alert.state !== "latched");
    if (reason) return `not analysed: ${reason.rule}`;
    return this.bed.state === "not analysed" ? "not analysed: no beats, no alerts" : "";
  }

  /** Samples and beats are kept only while the stream is watched. */
  release() {
    this.ring = null;
    this.playhead = null;
    this.beats = [];
    this.watchedMs = Infinity;
    this.arrivedMs = -Infinity;
  }
}

/** Beats in the order of time, each once. @param {Beat[]} beats @returns {Beat[]} */
function inOrder(beats) {
  const sorted = [...beats].sort((a, b) => a.time_us - b.time_us);
  return sorted.filter((beat, k) => k === 0 || beat.time_us !== sorted[k - 1].time_us);
}

export class Store {
  constructor() {
    /** @type {Map<string, Stream>} */
    this.streams = new Map();
    /** @type {Map<number, Stream>} */
    this.numbers = new Map();
    /** Alerts in force of every stream that has some. @type {Map<string, Alert[]>} */
    this.alerts = new Map();
    this.serverMinusLocalUs = 0;
    this.watched = [];
    /** Blocks of streams whose number is not known yet. @type {import("./protocol.js").Block[]} */
    this.early = [];
  }

  /** Forget what may have changed meanwhile: numbers of a server that has restarted, sessions of devices. */
  reconnected() {
    this.numbers.clear();
    this.alerts.clear();
    this.early = [];
    this.watched = [];
    for (const stream of this.streams.values()) {
      stream.bed = stream.bed && { ...stream.bed, number: undefined };
      stream.release();
    }
  }

  /** @param {number} serverUs clock of the server */
  setClock(serverUs) {
    this.serverMinusLocalUs = serverUs - Date.now() * 1000;
  }

  /** Clock of the server, microseconds since 1970, UTC. */
  nowUs() {
    return Date.now() * 1000 + this.serverMinusLocalUs;
  }

  /** @param {string} id @returns {Stream} */
  stream(id) {
    let stream = this.streams.get(id);
    if (!stream) this.streams.set(id, (stream = new Stream(id)));
    return stream;
  }

  /** @param {any} bed as the server sends it @returns {Stream} */
  setBed(bed) {
    const stream = this.stream(bed.stream);
    stream.bed = bed;
    const isNew = this.numbers.get(bed.number) !== stream;
    this.numbers.set(bed.number, stream);
    if (isNew && this.early.length) this.addBlocks(this.early.splice(0), performance.now());
    this.setAlerts(bed.stream, bed.alerts);
    return stream;
  }

  /** @param {string} id @param {Alert[]} alerts all in force */
  setAlerts(id, alerts) {
    if (alerts.length) this.alerts.set(id, alerts);
    else this.alerts.delete(id);
    const stream = this.streams.get(id);
    if (stream?.bed) stream.bed.alerts = alerts;
  }

  /** @param {import("./protocol.js").Block[]} blocks @param {number} nowMs */
  addBlocks(blocks, nowMs) {
    for (const block of blocks) {
      const stream = this.numbers.get(block.stream);
      if (!stream) this.early.push(block);
      else if (stream.watchedMs !== Infinity) stream.write(block, nowMs);
    }
    if (this.early.length > MOST_EARLY) this.early.splice(0, this.early.length - MOST_EARLY);
  }

  /**
   * Replace the watched streams; samples of the others are released.
   * @param {string[]} ids
   * @param {number} nowMs
   */
  watch(ids, nowMs) {
    const next = new Set(ids);
    for (const id of this.watched) if (!next.has(id)) this.streams.get(id)?.release();
    for (const id of ids) {
      const stream = this.stream(id);
      if (stream.watchedMs === Infinity) stream.watchedMs = nowMs;
    }
    this.watched = ids;
  }
}
