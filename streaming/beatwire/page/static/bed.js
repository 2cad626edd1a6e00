/**
 * One bed: all leads, beats, figures, alerts.
 *
 * In: a Stream. Out: the view at #/bed/ID. Traces are drawn each frame, figures once a beat, text once a second.
 */

import { AlertsList } from "./alerts_list.js";
import { Leads } from "./leads.js";
import { LimitsForm } from "./limits_form.js";
import { drawDecoded, drawOverlay, drawPlane, drawTachogram } from "./plots.js";
import { PX_PER_MM, figure, setText } from "./text.js";
import { BeatWindows } from "./windows.js";

const BEATS = "Above each beat: its class and score: N normal, S supraventricular, V ventricular, Q cannot tell.";
const HUM = " Mains hum is drawn as it comes, and subtracted before beats are found: check the electrode contacts.";

export class Bed {
  /**
   * @param {import("./store.js").Store} store
   * @param {{watch: (id: string) => void, acknowledge: (alert: string, stream: string, by: string) => void,
   *   askLimits: (stream: string) => void, setLimits: (stream: string, limits: Record<string, number|null>, by: string) => void}} on
   * @param {Record<string, string>} colours
   */
  constructor(store, on, colours) {
    this.store = store;
    this.on = on;
    this.colours = colours;
    this.section = document.getElementById("bed");
    this.section.append(document.getElementById("bed-template").content.cloneNode(true));
    const part = (name) => this.section.querySelector(name);
    this.parts = {
      title: part("h1"), signal: part(".bed-signal"), state: part(".bed-state"), leads: part(".leads"), scale: part(".scale"),
      rate: part(".rate"), score: part(".score"), quality: part(".quality"), back: part(".back"),
      tachogram: part(".tachogram"), overlay: part(".overlay"), plane: part(".plane"), decoded: part(".decoded"),
    };
    this.leads = new Leads(this.parts.leads, colours);
    this.windows = new BeatWindows();
    this.alerts = new AlertsList(part(".alerts"), part("#who"), (alert, by) => on.acknowledge(alert, this.id, by), () => store.nowUs());
    this.population = null;
    this.figures = [];
    this.id = "";
    this.missing = false;
    this.limits = new LimitsForm(part(".limits"), part("#who"), {
      ask: () => on.askLimits(this.id),
      save: (limits, by) => on.setLimits(this.id, limits, by),
    });
    new ResizeObserver(() => this.#plot()).observe(part(".plots"));
  }

  /** Show a bed. @param {string} id */
  show(id) {
    this.section.hidden = false;
    if (id !== this.id) {
      this.windows.restart();
      this.parts.leads.replaceChildren();
      [this.names, this.ring, this.missing] = ["", null, false];
      this.section.scrollTop = 0;
      this.alerts.forget();
      this.limits.restart();
    }
    this.id = id;
    setText(this.parts.title, id);
    this.resume();
    this.parts.back.focus();
  }

  /** Leave the bed. */
  hide() {
    this.section.hidden = true;
    this.alerts.forget();
    this.windows.restart();
    this.names = "";
  }

  /** Watch the bed, on a new connection too. */
  resume() {
    this.on.watch(this.id);
    this.#load();
    this.update();
  }

  async #load() {
    if (this.population) return;
    const asked = ["/population.json", "/rules.json"].map((path) => fetch(path));
    const answers = await Promise.all(asked).catch(() => null); // disconnected: the next connection loads them
    if (!answers?.every((answer) => answer.ok)) return;
    const [population, rules] = await Promise.all(answers.map((answer) => answer.json()));
    this.population = population;
    this.alerts.define(rules);
    this.beatsChanged();
  }

  /** @param {boolean} known the server has a stream of this name */
  found(known) {
    this.missing = !known;
  }

  /** @param {boolean} writable acknowledgements are accepted */
  setWritable(writable) {
    this.alerts.writable = writable;
    this.limits.setWritable(writable);
    this.update();
  }

  /** @param {boolean} isOpen the connection: only then something can be acknowledged */
  setOpen(isOpen) {
    this.alerts.isOpen = isOpen;
    this.limits.setOpen(isOpen);
    this.update();
  }

  /** Show the limits that the server sent. @param {any} message */
  showLimits(message) {
    if (message.stream === this.id) this.limits.show(message);
  }

  /** Acknowledge the alert with the highest priority. */
  acknowledgeFirst() {
    this.alerts.first();
  }

  /** Show the bed as the server last described it. */
  update() {
    const stream = this.store.streams.get(this.id);
    if (!stream?.bed) return;
    const { bed } = stream;
    const { bpm, quality } = stream.isSilent(performance.now()) ? { bpm: null, quality: null } : bed;
    setText(this.parts.rate, figure(bpm));
    this.parts.rate.classList.toggle("unknown", bpm === null);
    setText(this.parts.score, figure(bed.score, 1));
    setText(this.parts.quality, quality === null ? "--" : `${Math.round(100 * quality)} %`);
    const leads = `${bed.leads.length} ${bed.leads.length === 1 ? "lead" : "leads"}`;
    setText(this.parts.signal, bed.rate_hz ? `${leads}, ${bed.rate_hz} Hz` : "no samples yet");
    this.alerts.update(bed.alerts);
    if (bed.leads.join() !== this.names && !this.section.hidden) this.#build();
    else if (this.names) this.#showScale(bed);
  }

  #build() {
    const bed = this.store.streams.get(this.id)?.bed;
    if (!bed?.leads.length || !this.parts.leads.clientWidth) return;
    this.names = bed.leads.join();
    this.leads.build(bed.leads, PX_PER_MM);
    this.#showScale(bed);
  }

  #showScale({ hum, uv_per_unit: uvPerUnit }) {
    const gain = uvPerUnit > 0 ? "10 mm/mV unless a lead says otherwise" : "not calibrated: amplitudes have no unit";
    setText(this.parts.scale, `25 mm/s, ${gain}. ${BEATS}${hum.some(Boolean) ? HUM : ""}`);
  }

  /** Draw the figures again, one a frame. */
  beatsChanged() {
    const stream = this.store.streams.get(this.id);
    if (stream?.ring) this.windows.add(stream.ring, stream.beats);
    this.#plot();
  }

  #plot() {
    const { parts, colours } = this;
    this.figures = [
      ({ beats }, nowUs) => drawTachogram(parts.tachogram, colours, beats, nowUs),
      () => drawOverlay(parts.overlay, colours, this.windows.windows, this.windows.usual()),
      ({ beats }) => this.population && drawPlane(parts.plane, colours, this.population, beats),
      ({ beats }) => this.population && drawDecoded(parts.decoded, colours, this.population, beats),
    ];
  }

  #plotNext(stream) {
    if (!this.figures.length || !this.parts.overlay.clientWidth) return;
    const { ring } = stream;
    this.figures.shift()(stream, ring ? ring.timeUs(ring.end) : this.store.nowUs());
  }

  /** Draw new samples. @param {number} nowMs */
  draw(nowMs) {
    const stream = this.store.streams.get(this.id);
    if (!stream?.bed) return;
    this.#showState(stream, nowMs);
    this.#plotNext(stream);
    if (!this.names) this.update();
    if (!stream.ring || !this.names) return;
    if (stream.ring !== this.ring) this.leads.restart();
    this.ring = stream.ring;
    this.leads.draw(stream.ring, stream.playhead.advance(nowMs, stream.ring.end), stream.beats, stream.bed.hum);
  }

  #showState(stream, nowMs) {
    const standstill = stream.standstill(nowMs, this.store.nowUs());
    const text = standstill || stream.notAnalysed();
    if (text === this.stateText) return;
    this.stateText = text;
    setText(this.parts.state, text);
    this.parts.leads.classList.toggle("silent", standstill !== "");
    this.update();
  }

  /** The drawn state of the bed, for tests. @returns {Map<string, import("./trace.js").SweepTrace>} */
  drawn() {
    return new Map(this.ring && this.leads.traces.length ? [[this.id, this.leads.traces[0]]] : []);
  }
}
