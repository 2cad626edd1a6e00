// Draws the overview: unpacks the samples of the page, and on each zoom draws the scale that fits the figure.
// `overview.py` describes the format of the samples.
(async () => {
  "use strict";
  const NO_VALUE = -32768, STEP = 4, COLUMNS = 2600;
  const status = document.getElementById("overview-scale");

  if (!window.DecompressionStream) {
    status.textContent = "This browser cannot unpack the samples: only the coarsest scale is shown.";
    return;
  }

  async function unpack(node) {
    const text = atob(node.textContent), bytes = new Uint8Array(text.length);
    for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const parts = new Uint8Array(await new Response(stream).arrayBuffer());
    const n = Number(node.dataset.length), values = new Int16Array(n);
    for (let k = 0, value = 0; k < n; k++) {
      const zigzag = parts[k] | (parts[n + k] << 8);
      value = ((value + ((zigzag >>> 1) ^ -(zigzag & 1))) << 16) >> 16;
      values[k] = value;
    }
    node.remove();
    return values;
  }

  // The next coarser scale: minimum and maximum of STEP columns.
  function coarser({ low, high, factor }) {
    const n = Math.ceil(low.length / STEP), next = { low: new Int16Array(n), high: new Int16Array(n), factor: factor * STEP };
    for (let k = 0; k < n; k++) {
      let least = 32767, most = NO_VALUE;
      for (let j = k * STEP; j < Math.min(low.length, (k + 1) * STEP); j++) {
        if (high[j] === NO_VALUE) continue;
        if (low[j] < least) least = low[j];
        if (high[j] > most) most = high[j];
      }
      next.low[k] = most === NO_VALUE ? NO_VALUE : least;
      next.high[k] = most;
    }
    return next;
  }

  function scalesOf(values, factor) {
    let scale = { low: values, high: values, factor: 1 };
    if (factor > 1) {
      const low = values.filter((_, k) => k % 2 === 0), high = values.filter((_, k) => k % 2 === 1);
      scale = { low, high, factor };
    }
    const scales = [scale];
    while (scale.low.length > COLUMNS) scales.push((scale = coarser(scale)));
    return scales;
  }

  // The points of [start, stop] seconds: one for each sample, or minimum and maximum of each column.
  function points(scale, rate, unit, start, stop) {
    const first = Math.max(0, Math.floor((start * rate) / scale.factor) - 1);
    const last = Math.min(scale.low.length, Math.ceil((stop * rate) / scale.factor) + 2);
    const each = scale.low === scale.high ? 1 : 2, n = Math.max(0, last - first);
    const x = new Float64Array(each * n), y = new Float64Array(each * n);
    const middle = each === 1 ? 0 : scale.factor / 2;
    for (let k = 0; k < n; k++) {
      const time = ((first + k) * scale.factor + middle) / rate, low = scale.low[first + k], high = scale.high[first + k];
      x[each * k] = time;
      y[each * k] = low === NO_VALUE ? NaN : low * unit;
      if (each === 2) {
        x[2 * k + 1] = time;
        y[2 * k + 1] = high === NO_VALUE ? NaN : high * unit;
      }
    }
    return { x, y };
  }

  function caption(factor, rate, finest) {
    if (factor === 1) return "Shown: every sample.";
    const seconds = factor / rate;
    const text = seconds < 1 ? `${Number((1000 * seconds).toPrecision(2))} ms` : `${Number(seconds.toPrecision(2))} s`;
    return `Shown: minimum and maximum of every ${text}.${factor > finest ? " Zoom in for more." : ""}`;
  }

  async function loaded() {
    while (!(window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].get_model_by_name("overview"))) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return Bokeh.documents[0];
  }

  const page = await loaded(), range = page.get_model_by_name("overview"), leads = [];
  for (const node of document.querySelectorAll("script.samples")) {
    const { lead, factor, rate, unit } = node.dataset;
    leads.push({
      source: page.get_model_by_name(`lead ${lead}`), rate: Number(rate), unit: Number(unit),
      scales: scalesOf(await unpack(node), Number(factor)),
    });
  }

  let waiting = false;
  function draw() {
    waiting = false;
    for (const { source, rate, unit, scales } of leads) {
      const samples = (range.end - range.start) * rate;
      const scale = scales.find((s) => samples / s.factor <= COLUMNS * (s.low === s.high ? 4 : 1)) ?? scales.at(-1);
      source.data = points(scale, rate, unit, range.start, range.end);
      status.textContent = caption(scale.factor, rate, scales[0].factor);
      status.dataset.factor = scale.factor;
    }
  }
  function later() {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }
  range.properties.start.change.connect(later);
  range.properties.end.change.connect(later);
  draw();
  status.dataset.ready = "yes";
})();
