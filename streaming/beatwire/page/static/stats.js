/**
 * What the page costs: script time of each frame, frames, bytes, messages.
 *
 * The script time of a frame is its drawing and the handling of all messages since the frame before. The last 1,024 frames
 * are kept.
 */

const KEPT = 1024;

export class Stats {
  constructor() {
    this.times = new Float64Array(KEPT);
    this.began = new Float64Array(KEPT);
    this.frames = 0;
    this.bytes = 0;
    this.messages = 0;
    this.handlingMs = 0;
  }

  /** Count a message. @param {number} bytes @param {number} ms time that handling it took */
  message(bytes, ms) {
    this.messages += 1;
    this.bytes += bytes;
    this.handlingMs += ms;
  }

  /** Count a frame. @param {number} beganMs @param {number} ms time that drawing it took */
  frame(beganMs, ms) {
    const k = this.frames % KEPT;
    this.times[k] = ms + this.handlingMs;
    this.began[k] = beganMs;
    this.handlingMs = 0;
    this.frames += 1;
  }

  /** Totals since the page was loaded; quantiles and rate over the last frames (at most 1,024). */
  read() {
    const count = Math.min(this.frames, KEPT);
    const sorted = this.times.slice(0, count).sort();
    const at = (share) => (count ? sorted[Math.min(count - 1, Math.floor(share * count))] : NaN);
    const began = this.began.slice(0, count).sort();
    const elapsedS = (began[count - 1] - began[0]) / 1000;
    return Object.freeze({
      frames: this.frames, bytes: this.bytes, messages: this.messages, nowMs: performance.now(),
      scriptMsP50: at(0.5), scriptMsP95: at(0.95), framesPerSecond: count > 1 ? (count - 1) / elapsedS : 0,
    });
  }
}
