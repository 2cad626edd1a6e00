/**
 * A sweeping trace on a canvas: the newest sample is drawn over the oldest, with a bar cleared ahead of it.
 *
 * In: a ring of samples and a position. Out: pixels. State: index of the last sample drawn.
 * Only new samples are drawn, and only the bar ahead is cleared: sample i lies at x = (i mod span) * pixels per sample,
 * where span is the number of samples of a full sweep. A sample without a value lifts the pen, so a gap stays blank.
 * Level and gain are chosen when a sweep begins, and only if the trace does not fit as it is.
 */

import { NO_VALUE } from "./protocol.js";

const TALL_LINES = 80; // line widths in the height of a canvas
const BAR_S = 0.35;
const LEVEL_S = 10;
const SETTLED_S = 1.5; // with fewer samples the level is chosen again, a second later
const UNCALIBRATED_UV = 5;

/**
 * @typedef {object} TraceStyle
 * @property {string} ink colour of the trace
 * @property {string} paper colour behind it
 * @property {number} lineWidth CSS pixels at least; more on a tall canvas
 * @property {number} [seconds] length of a sweep; without it, pxPerSecond
 * @property {number} [pxPerSecond] CSS pixels
 * @property {number} pxPerMm CSS pixels
 * @property {number[]} gains mm/mV, in falling order: the first that fits is taken
 * @property {number} room share of the height for the last seconds; the rest is for what comes
 * @property {(context: CanvasRenderingContext2D, width: number, height: number, ratio: number) => void} [grid]
 */

export class SweepTrace {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {TraceStyle} style
   */
  constructor(canvas, style) {
    this.canvas = canvas;
    this.style = style;
    this.context = canvas.getContext("2d", { alpha: false });
    this.background = null;
    this.generation = -1;
    this.level = 0;
    [this.gain] = style.gains;
    this.measure(canvas.clientWidth, canvas.clientHeight);
  }

  /**
   * Set the size of the canvas; what was drawn is drawn again.
   * @param {number} width CSS pixels
   * @param {number} height CSS pixels
   */
  measure(width, height) {
    this.ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * this.ratio));
    this.canvas.height = Math.max(1, Math.round(height * this.ratio));
    this.background = this.style.grid ? this.#drawBackground() : null;
    this.restart();
  }

  /** Clear the trace; the next draw draws all that is visible. */
  restart() {
    this.generation = -1;
    this.drawn = 0;
    this.cleared = 0;
    this.from = 0;
    this.settled = false;
    this.retry = Infinity;
    this.#clear(0, this.canvas.width);
  }

  #drawBackground() {
    const sheet = document.createElement("canvas");
    sheet.width = this.canvas.width;
    sheet.height = this.canvas.height;
    const context = sheet.getContext("2d", { alpha: false });
    context.fillStyle = this.style.paper;
    context.fillRect(0, 0, sheet.width, sheet.height);
    this.style.grid(context, sheet.width, sheet.height, this.ratio);
    return sheet;
  }

  #clear(x, width) {
    if (width <= 0) return;
    if (this.background) {
      const height = this.canvas.height;
      this.context.drawImage(this.background, x, 0, width, height, x, 0, width, height);
    } else {
      this.context.fillStyle = this.style.paper;
      this.context.fillRect(x, 0, width, this.canvas.height);
    }
  }

  #scale(rateHz) {
    const perSecond = this.style.seconds ? this.canvas.width / this.style.seconds : this.style.pxPerSecond * this.ratio;
    this.step = perSecond / rateHz;
    this.span = Math.max(2, Math.floor(this.canvas.width / this.step));
    this.bar = Math.min(Math.ceil(BAR_S * rateHz), this.span >> 2);
  }

  /**
   * Draw the samples up to a position.
   * @param {import("./ring.js").SampleRing} ring
   * @param {number} lead
   * @param {number} position samples below it are drawn
   */
  draw(ring, lead, position) {
    const end = Math.min(Math.floor(position), ring.end);
    const again = ring.generation !== this.generation || (!this.settled && end >= this.retry);
    if (again) this.#scale(ring.rateHz);
    if (!again && end <= this.drawn) return;
    if (again || end - this.drawn >= this.span - this.bar) {
      this.generation = ring.generation;
      this.#clear(0, this.canvas.width);
      this.drawn = Math.max(ring.oldest, end - this.span + this.bar);
      this.from = this.drawn;
      this.cleared = end + this.bar;
      this.#choose(ring, lead, end, again);
    }
    this.#clearAhead(end + this.bar);
    this.#stroke(ring, lead, end);
    this.drawn = end;
    this.from = Math.max(this.from, end - this.span + this.bar);
  }

  #clearAhead(to) {
    while (this.cleared < to) {
      const begin = this.cleared % this.span;
      const count = Math.min(to - this.cleared, this.span - begin);
      const x = Math.floor(begin * this.step);
      const last = begin + count === this.span ? this.canvas.width : Math.floor((begin + count) * this.step);
      this.#clear(x, last - x);
      this.cleared += count;
    }
  }

  /** Choose the level that lies in the middle, and the gain, so that the last seconds fit. */
  #choose(ring, lead, end, again) {
    this.uvPerUnit = ring.uvPerUnit || UNCALIBRATED_UV;
    const values = ring.slice(lead, Math.max(ring.oldest, Math.ceil(end - LEVEL_S * ring.rateHz)), end)
      .filter((value) => value !== NO_VALUE).sort();
    this.settled = values.length >= SETTLED_S * ring.rateHz;
    this.retry = end + ring.rateHz;
    if (values.length < 8) return;
    const [least, most] = [values[0], values[values.length - 1]];
    const { gains, pxPerMm, room } = this.style;
    const mm = this.canvas.height / this.ratio / pxPerMm;
    const fits = (gain, units, share) => (units * this.uvPerUnit * gain) / 1000 <= mm * share;
    const gain = gains.find((candidate) => fits(candidate, most - least, room)) ?? gains[gains.length - 1];
    const reach = 2 * Math.max(most - this.level, this.level - least);
    if (!again && fits(this.gain, reach, 1) && (gain <= this.gain || !fits(gain, most - least, room / 1.4))) return;
    this.level = (least + most) / 2;
    this.gain = gain;
  }

  #stroke(ring, lead, end) {
    const { context, step, span } = this;
    const samples = ring.leads[lead];
    const middle = this.canvas.height / 2;
    context.beginPath();
    let scale = this.#unitsToPixels();
    let down = false;
    const start = this.drawn % span > 0 && this.drawn > this.from ? this.drawn - 1 : this.drawn;
    for (let i = start; i < end; i += 1) {
      const column = i % span;
      if (column === 0 && i > start) {
        this.#choose(ring, lead, i, false);
        scale = this.#unitsToPixels();
      }
      const value = samples[i % ring.capacity];
      if (value === NO_VALUE || column === 0) down = false;
      if (value === NO_VALUE) continue;
      const y = middle - (value - this.level) * scale;
      if (down) context.lineTo(column * step, y);
      else context.moveTo(column * step, y);
      down = true;
    }
    context.strokeStyle = this.style.ink;
    context.lineWidth = Math.max(this.style.lineWidth * this.ratio, this.canvas.height / TALL_LINES);
    context.lineJoin = "round";
    context.lineCap = "round";
    context.stroke();
  }

  #unitsToPixels() {
    return (this.uvPerUnit / 1000) * this.gain * this.style.pxPerMm * this.ratio;
  }

  /** Horizontal place of a sample, CSS pixels. @param {number} index */
  x(index) {
    return ((index % this.span) * this.step) / this.ratio;
  }
}
