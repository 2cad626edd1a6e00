/**
 * Windows of 0.52 s around beats, cut from the samples that were received, and the stream's usual beat.
 *
 * In: a ring of samples, beats. Out: windows in millivolts, each without its median; the usual beat is their median at
 * each point over the windows with a low score. Windows are kept until there are 40.
 */

import { NO_VALUE } from "./protocol.js";

export const WINDOW_S = 0.52;
const KEPT = 40;
const USUAL = 1.3; // score: one in twenty usual beats lies above

/** @typedef {{beat: import("./store.js").Beat, mv: Float32Array}} BeatWindow */

export class BeatWindows {
  constructor() {
    this.restart();
  }

  /** Forget all windows. */
  restart() {
    /** @type {BeatWindow[]} */
    this.windows = [];
    this.last = -Infinity;
    this.generation = -1;
  }

  /**
   * Cut the windows of beats that were not cut yet.
   * @param {import("./ring.js").SampleRing} ring
   * @param {import("./store.js").Beat[]} beats in the order of time
   */
  add(ring, beats) {
    if (ring.generation !== this.generation || ring.rateHz !== this.rateHz) this.restart();
    this.generation = ring.generation;
    this.rateHz = ring.rateHz;
    for (const beat of beats.slice(-2 * KEPT)) {
      if (beat.sample <= this.last || !ring.holds(beat)) continue;
      const half = Math.round((WINDOW_S / 2) * ring.rateHz);
      if (beat.sample + half > ring.end) break;
      this.last = beat.sample;
      const mv = cut(ring, beat.sample - half, beat.sample + half);
      if (mv) this.windows.push({ beat, mv });
    }
    this.windows.splice(0, this.windows.length - KEPT);
  }

  /** The usual beat in millivolts, or null before three windows with a low score. @returns {Float32Array|null} */
  usual() {
    const low = this.windows.filter(({ beat }) => beat.score !== null && beat.score < USUAL);
    if (low.length < 3) return null;
    return low[0].mv.map((_, k) => median(Float32Array.from(low, ({ mv }) => mv[k])));
  }
}

/** @param {import("./ring.js").SampleRing} ring @returns {Float32Array|null} null if a sample is missing */
function cut(ring, from, to) {
  if (from < ring.oldest) return null;
  const samples = ring.slice(0, from, to);
  if (samples.includes(NO_VALUE)) return null;
  const middle = median(Float32Array.from(samples));
  return Float32Array.from(samples, (value) => ((value - middle) * (ring.uvPerUnit || 1)) / 1000);
}

/** @param {Float32Array} values changed in place */
function median(values) {
  return values.sort()[values.length >> 1];
}
