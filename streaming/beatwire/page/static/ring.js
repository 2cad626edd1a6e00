/**
 * The last seconds of one stream's samples, by their index in the session.
 *
 * In: blocks, in any order. Out: int16 samples of each lead; NO_VALUE where none was received.
 * Invariant: for index i in [oldest, end), sample i of lead l is `leads[l][i % capacity]`. Nothing shifts in time: a gap
 * between two blocks holds NO_VALUE, as long as the gap itself.
 */

import { NO_VALUE } from "./protocol.js";

const SAME_US = 1e6;

let generations = 0; // of all rings: what was drawn from one ring is never taken for what another holds

export class SampleRing {
  /**
   * @param {number} leads
   * @param {number} rateHz
   * @param {number} seconds how much is kept
   */
  constructor(leads, rateHz, seconds) {
    this.rateHz = rateHz;
    this.capacity = Math.ceil(rateHz * seconds);
    this.leads = Array.from({ length: leads }, () => new Int16Array(this.capacity).fill(NO_VALUE));
    this.uvPerUnit = 0;
    /** Another number after each restart of the sample index: what was drawn before it belongs to another session. */
    this.generation = 0;
    this.oldest = 0;
    this.end = 0;
    this.anchorIndex = 0;
    this.anchorUs = 0;
  }

  /** Empty the ring; the next sample has this index. @param {number} first */
  restart(first) {
    generations += 1;
    this.generation = generations;
    this.oldest = first;
    this.end = first;
    for (const lead of this.leads) lead.fill(NO_VALUE);
  }

  /**
   * Store a block.
   * @param {import("./protocol.js").Block} block
   */
  write(block) {
    const empty = this.end === this.oldest;
    if (empty || block.newSession || block.first + block.n < this.end - this.capacity) this.restart(block.first);
    if (block.first > this.end) this.#skipTo(block.first);
    const from = Math.max(block.first, this.oldest, block.first + block.n - this.capacity);
    for (let l = 0; l < this.leads.length; l += 1) {
      if (l < block.leads.length) this.#copy(this.leads[l], block.leads[l], from, block.first);
    }
    this.end = Math.max(this.end, block.first + block.n);
    this.oldest = Math.max(this.oldest, this.end - this.capacity);
    this.anchorIndex = block.first;
    this.anchorUs = block.timeUs;
    this.uvPerUnit = block.uvPerUnit;
  }

  #copy(lead, samples, from, first) {
    let at = from % this.capacity;
    for (let i = from - first; i < samples.length; i += 1) {
      lead[at] = samples[i];
      at = at + 1 === this.capacity ? 0 : at + 1;
    }
  }

  #skipTo(first) {
    const from = Math.max(this.end, first - this.capacity);
    for (const lead of this.leads) {
      for (let i = from; i < first; i += 1) lead[i % this.capacity] = NO_VALUE;
    }
    this.end = first;
    this.oldest = Math.max(this.oldest, this.end - this.capacity);
  }

  /**
   * One sample.
   * @param {number} lead
   * @param {number} index
   * @returns {number} NO_VALUE if it was not received or is no longer kept
   */
  at(lead, index) {
    return index >= this.oldest && index < this.end ? this.leads[lead][index % this.capacity] : NO_VALUE;
  }

  /**
   * Copy of the samples [from, to) of a lead.
   * @param {number} lead
   * @param {number} from
   * @param {number} to
   * @returns {Int16Array}
   */
  slice(lead, from, to) {
    const out = new Int16Array(Math.max(0, to - from));
    for (let k = 0; k < out.length; k += 1) out[k] = this.at(lead, from + k);
    return out;
  }

  /** True for a beat of this session, by the present clock of its device. @param {{sample: number, time_us: number}} beat */
  holds(beat) {
    return Math.abs(this.timeUs(beat.sample) - beat.time_us) <= SAME_US;
  }

  /** Device time of a sample, microseconds since 1970, UTC. @param {number} index */
  timeUs(index) {
    return this.anchorUs + ((index - this.anchorIndex) * 1e6) / this.rateHz;
  }
}
