/**
 * The figures beside the traces: rate over ten minutes, last beats on the usual beat, the plane of the latents, its
 * decoded beats.
 *
 * In: a canvas and what to draw. Out: the whole figure, drawn anew; this happens once a beat, not once a frame. Each
 * figure has axes with units, and a sentence for screen readers.
 */

import { clockTime, colourOf, isStrange, standsOut } from "./text.js";
import { WINDOW_S } from "./windows.js";

const MARGIN = { left: 40, right: 8, top: 8, bottom: 40 };
const REGION_RADII = [1.18, 2.45]; // standard deviations: half of the population, and 95 in 100
const PLANE = 1.5; // the plane is shown so many times as far as it is decoded: strange beats lie outside
const [SLOWEST, FASTEST] = [20, 300]; // a minute; what lies beyond is drawn at the edge
const FONT = "13px system-ui, sans-serif";

/** @typedef {{text: string, label: string, line: string, trace: string}} Colours */

/**
 * A figure's frame: axes, ticks, labels; returns the functions that place a value.
 * @param {HTMLCanvasElement} canvas
 * @param {Colours} colours
 * @param {{x: number[], y: number[], xTicks: [number, string][], yTicks: [number, string][], xLabel: string, yLabel: string}} axes
 */
function frame(canvas, colours, axes) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const bottom = height - MARGIN.bottom;
  const right = width - MARGIN.right;
  const x = (value) => MARGIN.left + ((value - axes.x[0]) / (axes.x[1] - axes.x[0])) * (right - MARGIN.left);
  const y = (value) => bottom - ((value - axes.y[0]) / (axes.y[1] - axes.y[0])) * (bottom - MARGIN.top);
  context.font = FONT;
  context.fillStyle = colours.label;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const [value, text] of axes.yTicks) {
    context.moveTo(MARGIN.left, Math.round(y(value)) + 0.5);
    context.lineTo(right, Math.round(y(value)) + 0.5);
    context.textAlign = "right";
    context.fillText(text, MARGIN.left - 4, Math.min(y(value) + 4, bottom));
  }
  context.textAlign = "center";
  for (const [value, text] of axes.xTicks) {
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(x(value), half), width - half), bottom + 16);
  }
  context.stroke();
  context.textAlign = "right";
  context.fillText(axes.xLabel, right, height - 6);
  context.textAlign = "left";
  context.fillText(axes.yLabel, MARGIN.left + 4, MARGIN.top + 12);
  context.save();
  context.beginPath();
  context.rect(MARGIN.left, MARGIN.top, right - MARGIN.left, bottom - MARGIN.top);
  context.clip();
  return { context, x, y };
}

/** Round numbers that divide a range into about four. @param {number} low @param {number} high @returns {[number, string][]} */
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((candidate) => candidate >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) out.push([k * step, (k * step).toFixed(digits)]);
  return out;
}

/** What does not change from beat to beat, drawn once for each size of the canvas. */
const layers = new WeakMap();

function kept(canvas, context, source, draw) {
  let layer = layers.get(canvas);
  if (layer?.width !== canvas.width || layer.height !== canvas.height || layer.source !== source) {
    const sheet = new OffscreenCanvas(canvas.width, canvas.height);
    const on = sheet.getContext("2d");
    on.setTransform(context.getTransform());
    draw(on);
    layer = { width: canvas.width, height: canvas.height, source, sheet };
    layers.set(canvas, layer);
  }
  context.drawImage(layer.sheet, 0, 0, canvas.clientWidth, canvas.clientHeight);
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/**
 * Rate of each beat over the last ten minutes.
 * @param {HTMLCanvasElement} canvas
 * @param {Colours} colours
 * @param {import("./store.js").Beat[]} beats
 * @param {number} nowUs device time at the right edge
 */
export function drawTachogram(canvas, colours, beats, nowUs) {
  const rates = beats.map((beat) => (beat.rr_ms > 0 ? 60_000 / beat.rr_ms : NaN));
  const known = rates.filter(Number.isFinite);
  const low = Math.max(SLOWEST, Math.min(40, 20 * Math.floor(Math.min(...known) / 20)));
  const high = Math.min(FASTEST, Math.max(120, 20 * Math.ceil(Math.max(...known) / 20)));
  const minutes = (us) => (us - nowUs) / 60e6;
  const { context, x, y } = frame(canvas, colours, {
    x: [-10, 0], y: [low, high], yTicks: ticks(low, high),
    xTicks: [[-10, "-10"], [-5, "-5"], [0, "0"]], xLabel: `min before ${clockTime(nowUs)}`, yLabel: "/min",
  });
  beats.forEach((beat, k) => {
    context.fillStyle = colourOf(beat, colours, colours.trace);
    const side = standsOut(beat) ? 5 : 2.5;
    if (Number.isFinite(rates[k])) context.fillRect(x(minutes(beat.time_us)) - side / 2, y(Math.min(Math.max(rates[k], low), high)) - side / 2, side, side);
  });
  context.restore();
  const last = known.length ? `${Math.round(known[known.length - 1])} per minute` : "unknown";
  canvas.setAttribute("aria-label", `Rate of ${known.length} beats in ten minutes; the last is ${last}`);
}

/**
 * The last beats over the usual beat.
 * @param {HTMLCanvasElement} canvas
 * @param {Colours} colours
 * @param {import("./windows.js").BeatWindow[]} windows
 * @param {Float32Array|null} usual
 */
export function drawOverlay(canvas, colours, windows, usual) {
  const shown = windows.slice(-12);
  const values = [...shown.map(({ mv }) => mv), ...(usual ? [usual] : [])];
  const low = Math.min(-0.5, ...values.map((mv) => Math.min(...mv)));
  const high = Math.max(1, ...values.map((mv) => Math.max(...mv)));
  const half = (WINDOW_S / 2) * 1000;
  const { context, x, y } = frame(canvas, colours, {
    x: [-half, half], y: [low, high + 0.15 * (high - low)], yTicks: ticks(low, high),
    xTicks: [[-200, "-200"], [0, "0"], [200, "200"]], xLabel: "ms from R", yLabel: "mV",
  });
  const line = (mv) => {
    context.beginPath();
    mv.forEach((value, k) => context.lineTo(x(-half + (2 * half * k) / mv.length), y(value)));
    context.stroke();
  };
  context.lineJoin = "round";
  if (usual) {
    [context.strokeStyle, context.lineWidth] = [colours.trace, 3];
    line(usual);
  }
  context.globalAlpha = 0.7;
  for (const { beat, mv } of shown) {
    [context.strokeStyle, context.lineWidth] = [colourOf(beat, colours, colours.label), standsOut(beat) ? 1.5 : 0.75];
    line(mv);
  }
  if (!usual) {
    context.fillStyle = colours.label;
    context.globalAlpha = 1;
    context.fillText("no usual beat yet", MARGIN.left + 48, MARGIN.top + 12);
  }
  context.restore();
  const strange = shown.filter(({ beat }) => isStrange(beat)).length;
  canvas.setAttribute("aria-label", usual
    ? `Last ${shown.length} beats over the usual beat of this stream; ${strange} of them scored 3 or more`
    : "No usual beat yet: it needs three beats with a low score");
}

/**
 * Beats of the stream among those of the population.
 * @param {HTMLCanvasElement} canvas
 * @param {Colours} colours
 * @param {{points: number[][], region?: {centre: number[], covariance: number[][]}, decoded: {x: number[], y: number[]}}} population
 * @param {import("./store.js").Beat[]} beats
 */
export function drawPlane(canvas, colours, population, beats) {
  const { x: gridX, y: gridY } = population.decoded;
  const range = (values) => [PLANE * values[0], PLANE * values[values.length - 1]];
  const [wide, tall] = [range(gridX), range(gridY)];
  const { context, x, y } = frame(canvas, colours, {
    x: wide, y: tall, xTicks: ticks(...wide), yTicks: ticks(...tall), xLabel: "first direction", yLabel: "second direction",
  });
  kept(canvas, context, population, (layer) => {
    layer.fillStyle = colours.label;
    layer.globalAlpha = 0.4;
    for (const [px, py] of population.points) layer.fillRect(x(px), y(py), 1.5, 1.5);
    layer.globalAlpha = 1;
    layer.strokeStyle = colours.label;
    for (const radius of REGION_RADII) ellipse(layer, population.region, radius, x, y);
  });
  const placed = beats.filter((beat) => Number.isFinite(beat.x) && Number.isFinite(beat.y)).slice(-100);
  const within = (value, [low, high]) => Math.min(Math.max(value, low), high);
  for (const beat of placed) {
    context.fillStyle = colourOf(beat, colours, colours.trace);
    dot(context, x(within(beat.x, wide)), y(within(beat.y, tall)), standsOut(beat) ? 3.5 : 2.5);
  }
  if (placed.length) ring(context, colours.text, x(within(placed.at(-1).x, wide)), y(within(placed.at(-1).y, tall)));
  context.restore();
  canvas.setAttribute("aria-label", `Last ${placed.length} beats in the plane of the model; outlines hold half and 95 in 100 of the usual beats of other people`);
}

/** Outline of the population at a number of standard deviations. */
function ellipse(context, region, radius, x, y) {
  if (!region) return;
  const [[a, b], [, c]] = region.covariance;
  const l = Math.sqrt(a); // Cholesky factor of the covariance: [[l, 0], [b / l, rest]]
  const rest = Math.sqrt(Math.max(0, c - (b / l) ** 2));
  context.beginPath();
  for (let k = 0; k <= 72; k += 1) {
    const [cos, sin] = [Math.cos((k * Math.PI) / 36), Math.sin((k * Math.PI) / 36)];
    context.lineTo(x(region.centre[0] + radius * l * cos), y(region.centre[1] + radius * ((b / l) * cos + rest * sin)));
  }
  context.stroke();
}

function ring(context, colour, x, y) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, 7, 0, 2 * Math.PI);
  context.stroke();
}

/**
 * The beats that the model decodes at the nodes of the plane; the node nearest to the last beat is bright.
 * @param {HTMLCanvasElement} canvas
 * @param {Colours} colours
 * @param {{decoded: {x: number[], y: number[], windows: number[][]}}} population
 * @param {import("./store.js").Beat[]} beats
 */
export function drawDecoded(canvas, colours, population, beats) {
  const { x: gridX, y: gridY, windows } = population.decoded;
  const wide = [gridX[0], gridX.at(-1)];
  const tall = [gridY[0], gridY.at(-1)];
  const [padX, padY] = [cell(gridX) / 2, cell(gridY) / 2];
  const { context, x, y } = frame(canvas, colours, {
    x: [wide[0] - padX, wide[1] + padX], y: [tall[0] - padY, tall[1] + padY],
    xTicks: ticks(...wide), yTicks: ticks(...tall), xLabel: "first direction", yLabel: "",
  });
  const near = nearest(beats, gridX, gridY);
  const most = Math.max(...windows.map((window) => Math.max(...window)));
  const least = Math.min(...windows.map((window) => Math.min(...window)));
  const [middle, reach] = [(most + least) / 2, (most - least) / 2 || 1];
  const [half, tallness] = [0.45 * (x(cell(gridX)) - x(0)), 0.45 * (y(0) - y(cell(gridY)))];
  const line = (on, k) => {
    const [column, row] = [k % gridX.length, Math.floor(k / gridX.length)];
    on.beginPath();
    windows[k].forEach((value, i) => {
      const across = x(gridX[column]) + half * ((2 * i) / (windows[k].length - 1) - 1);
      on.lineTo(across, y(gridY[row]) - (tallness * (value - middle)) / reach);
    });
    on.stroke();
  };
  kept(canvas, context, population, (layer) => {
    layer.strokeStyle = colours.label;
    windows.forEach((_, k) => line(layer, k));
  });
  [context.strokeStyle, context.lineWidth] = [colours.trace, 2.5];
  if (near >= 0) line(context, near);
  context.restore();
  canvas.setAttribute("aria-label", `Beats decoded at ${windows.length} places of the plane; the one nearest to the last beat is bright`);
}

const cell = (values) => (values.at(-1) - values[0]) / (values.length - 1);

/** Index of the node nearest to the last beat with a place; -1 if there is none. */
function nearest(beats, gridX, gridY) {
  const beat = beats.findLast(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (!beat) return -1;
  const closest = (values, value) => values.reduce((best, v, k) => (Math.abs(v - value) < Math.abs(values[best] - value) ? k : best), 0);
  return closest(gridY, beat.y) * gridX.length + closest(gridX, beat.x);
}
