/**
 * Pacing: the sample that is drawn now.
 *
 * In: time, and the newest sample received. Out: a position in samples that advances with time, about 300 ms behind the
 * newest sample, so that messages 5-10 times a second become an even trace. It waits when samples run out. More than one
 * second behind (a tab in the background), it jumps: what was received meanwhile is drawn at once, what was not is a gap.
 */

const DELAY_S = 0.3;
const JUMP_S = 1.0;
const DRAIN_MS = 500; // the last 300 ms of a feed that has ended are drawn after this time
const CORRECTION = 0.5; // change of speed per second of error
const SLOWEST = 0.95;
const FASTEST = 1.25;

export class Playhead {
  /** @param {number} rateHz */
  constructor(rateHz) {
    this.rateHz = rateHz;
    this.position = NaN;
    this.waiting = false;
    this.jumps = 0;
    this.newest = 0;
    this.grownMs = 0;
    this.lastMs = 0;
  }

  /** Begin again at the next advance. */
  restart() {
    this.position = NaN;
  }

  /**
   * Advance to a time.
   * @param {number} nowMs monotonic clock
   * @param {number} newest index of the newest sample received, plus one
   * @returns {number} position: samples below it may be drawn
   */
  advance(nowMs, newest) {
    const elapsedS = (nowMs - this.lastMs) / 1000;
    this.lastMs = nowMs;
    if (newest !== this.newest) this.grownMs = nowMs;
    this.newest = newest;
    const delay = DELAY_S * this.rateHz;
    if (Number.isNaN(this.position)) {
      this.position = newest - delay;
      this.waiting = false;
      return this.position;
    }
    const behind = newest - this.position;
    if (behind > delay + JUMP_S * this.rateHz) {
      this.jumps += 1;
      this.position = newest - delay;
      return this.position;
    }
    if (this.waiting && behind < delay && nowMs - this.grownMs < DRAIN_MS) return this.position;
    const speed = 1 + CORRECTION * (behind / this.rateHz - DELAY_S);
    this.position += elapsedS * this.rateHz * Math.min(Math.max(speed, SLOWEST), FASTEST);
    this.waiting = this.position >= newest;
    if (this.waiting) this.position = newest;
    return this.position;
  }
}
