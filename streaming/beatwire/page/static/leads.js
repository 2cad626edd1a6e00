/**
 * All leads of a bed as sweeping traces at 25 mm/s and 10 mm/mV on a grid, with the beats marked above.
 *
 * In: a Stream and the length of a millimetre on this screen. Out: a canvas for each lead, a strip of marks for each column.
 */

import { SweepTrace } from "./trace.js";
import { colourOf, element, figure, humText, letter, setText, standsOut } from "./text.js";

const MM_PER_S = 25;
const USUAL_GAIN = 10; // mm/mV; a lead with another says so
const GAINS = [10, 5, 2.5, 1.25];
const LARGE_GAINS = [20, ...GAINS]; // of a lead that is alone
const ONE_COLUMN = 4; // leads: with more, two columns
const TALL_MM = [30, 40]; // height of a lead, if there are few; the second on a tall screen
const LOW_MM = [20, 30];
const TALL_SCREEN_PX = 1200;
const FEW = 3; // fewer leads share the height of three
const TALLEST = 2; // times the height of one of three
const NARROW_PX = 700;
const SMALL = "(max-width: 1100px) and (max-height: 720px)"; // as in the style sheet: leads are low, so that alarms are seen

export class Leads {
  /** @param {HTMLElement} parent @param {Record<string, string>} colours */
  constructor(parent, colours) {
    this.parent = parent;
    this.colours = colours;
    /** @type {SweepTrace[]} */
    this.traces = [];
    this.strips = [];
    new ResizeObserver(() => this.#measure()).observe(parent);
  }

  /**
   * Make the canvases.
   * @param {string[]} names of the leads
   * @param {number} pxPerMm CSS pixels
   */
  build(names, pxPerMm) {
    this.names = names;
    this.pxPerMm = pxPerMm;
    this.width = this.parent.clientWidth;
    const columns = names.length > ONE_COLUMN && this.width > NARROW_PX ? 2 : 1;
    const rows = Math.ceil(names.length / columns);
    this.parent.style.setProperty("--lead-columns", columns);
    this.parent.style.setProperty("--lead-rows", rows + 1);
    this.parent.replaceChildren();
    [this.traces, this.strips] = [[], []];
    const least = (names.length > ONE_COLUMN ? LOW_MM : TALL_MM)[innerHeight > TALL_SCREEN_PX ? 1 : 0];
    const share = Math.min(TALLEST, Math.max(1, FEW / rows));
    const height = (matchMedia(SMALL).matches ? LOW_MM[0] : least * share) * pxPerMm;
    names.forEach((name, lead) => {
      if (lead % rows === 0) this.#addStrip();
      this.#addLead(name, height, names.length === 1 ? LARGE_GAINS : GAINS);
    });
  }

  #addStrip() {
    const strip = document.createElement("canvas");
    strip.className = "marks";
    this.parent.append(strip);
    this.strips.push(strip);
    const ratio = window.devicePixelRatio || 1;
    strip.width = Math.round(strip.clientWidth * ratio);
    strip.height = Math.round(strip.clientHeight * ratio);
  }

  #addLead(name, height, gains) {
    const holder = element("div", "lead");
    const canvas = document.createElement("canvas");
    holder.style.height = `${Math.round(height)}px`;
    const label = element("span", "lead-name");
    label.append(element("span", "", name), element("span", "lead-hum"));
    holder.append(canvas, label);
    this.parent.append(holder);
    this.traces.push(new SweepTrace(canvas, {
      ink: this.colours.trace, paper: this.colours.paper, lineWidth: 1.5, pxPerSecond: MM_PER_S * this.pxPerMm,
      pxPerMm: this.pxPerMm, gains, room: 0.9, grid: (...sheet) => this.#grid(...sheet),
    }));
  }

  /** Lines each millimetre would be brighter than the trace on a screen: 5 mm, and 25 mm stronger. */
  #grid(context, width, height, ratio) {
    const step = 5 * this.pxPerMm * ratio;
    const line = (from, to, colour) => {
      context.fillStyle = colour;
      context.fillRect(...from, ...to);
    };
    for (let k = 0; k * step < width; k += 1) {
      line([Math.round(k * step), 0], [1, height], this.colours[k % 5 ? "grid" : "grid-strong"]);
    }
    const rows = Math.ceil(height / 2 / step);
    for (let k = -rows; k <= rows; k += 1) {
      line([0, Math.round(height / 2 + k * step)], [width, 1], this.colours[k % 2 ? "grid" : "grid-strong"]);
    }
  }

  #measure() {
    if (this.names && this.parent.clientWidth && this.parent.clientWidth !== this.width) this.build(this.names, this.pxPerMm);
  }

  /** Clear all traces. */
  restart() {
    for (const trace of this.traces) trace.restart();
  }

  /**
   * Draw new samples and the marks of their beats.
   * @param {import("./ring.js").SampleRing} ring
   * @param {number} position
   * @param {import("./store.js").Beat[]} beats
   * @param {any[]} hum of each lead
   */
  draw(ring, position, beats, hum) {
    this.traces.forEach((trace, lead) => {
      if (lead < ring.leads.length) trace.draw(ring, lead, position);
      const gain = trace.gain === USUAL_GAIN || !ring.uvPerUnit ? "" : ` ${trace.gain} mm/mV`;
      const [name, sign] = trace.canvas.nextElementSibling.children;
      setText(name, this.names[lead] + gain);
      setText(sign, humText(hum[lead]));
    });
    if (this.traces.length) for (const strip of this.strips) this.#mark(strip, ring, beats);
  }

  /** Class and score of each visible beat, above its R. */
  #mark(strip, ring, beats) {
    const [trace] = this.traces;
    const context = strip.getContext("2d");
    const ratio = strip.width / strip.clientWidth;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, strip.width, strip.height);
    context.textAlign = "center";
    let free = Infinity; // left edge of the text that was written last
    for (let k = beats.length - 1; k >= 0; k -= 1) {
      const beat = beats[k];
      if (ring.timeUs(trace.from) > beat.time_us + 1e6) break;
      if (beat.sample < trace.from || beat.sample >= trace.drawn) continue;
      if (!ring.holds(beat)) continue;
      const x = Math.min(Math.max(trace.x(beat.sample), 16), strip.clientWidth - 16);
      context.fillStyle = colourOf(beat, this.colours, this.colours.label);
      context.font = standsOut(beat) ? "bold 13px system-ui, sans-serif" : "13px system-ui, sans-serif";
      context.fillRect(trace.x(beat.sample) - 0.5, 18, 1, 6);
      if (x > free) free = Infinity; // the sweep before
      const text = [`${letter(beat)} ${figure(beat.score, 1)}`, letter(beat)]
        .find((candidate) => x + context.measureText(candidate).width / 2 + 4 < free);
      if (!text) continue;
      context.fillText(text, x, 14);
      free = x - context.measureText(text).width / 2;
    }
  }
}
