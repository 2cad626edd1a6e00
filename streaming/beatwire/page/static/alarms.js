/**
 * Alarms as bedside monitors show and sound them; conformity with a standard is not claimed.
 *
 * In: the alerts in force, the bed that is shown, whether the server is lost, and the time. Out: phases of flashing as
 * classes of the body, counts, the gravest alarm of a bed that is not shown, announcements for screen readers, sound.
 * High flashes at 2 Hz, medium at 0.6 Hz, low is steady. All alarms of a priority flash together, so that the page has
 * never more than three flashes a second. Sound is off until it is switched on; it can be paused for two minutes, and a
 * new alarm of a higher priority than those in force ends the pause. A new alarm sounds at once, but for a burst that has
 * begun.
 * While the server is lost, that alone sounds, as an alarm of medium priority: the alerts in force are old. Beds that no
 * monitor analyses sound as one of medium priority, too, beside the others.
 */

import { STARS, alarmLine, byPriority, countdown, element, parts, rank, setText, shortName, standing } from "./text.js";

const HIGH_HZ = 2;
const MEDIUM_HZ = 0.6;
const PAUSE_MS = 120_000;
const PRIORITIES = ["high", "medium", "low"];
const LOST = 1; // rank of the alarm of a lost server, and of beds that are not analysed
/** Beeps of a burst (start in s, frequency in Hz), and the time from one burst to the next. */
const BURSTS = {
  high: { every: 5000, beeps: [[0, 880], [0.2, 880], [0.4, 880], [0.8, 880], [1.0, 988]] },
  medium: { every: 12_000, beeps: [[0, 660], [0.25, 660], [0.5, 660]] },
  low: { every: 30_000, beeps: [[0, 523]] },
};
const FORGET_MS = 60_000;
const STOPPED_MS = 1000; // a browser that was asked to play has begun by then
const BEEP_S = 0.14;
const VOLUME = 0.15;

/** @param {{id: string, reminders?: number|null}} alert */
const nameOf = ({ id, reminders }) => `${id} ${reminders ?? 0}`;

export class Alarms {
  /**
   * @param {{counts: HTMLElement, elsewhere: HTMLAnchorElement, announce: HTMLElement, sound: HTMLButtonElement,
   *   pause: HTMLButtonElement}} parts
   */
  constructor(parts) {
    this.parts = parts;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    /**
     * Alert id and reminder -> when it was last in force: a lost connection makes no old alarm a new one. An alarm that the
     * monitor publishes again, because nobody has acknowledged it, is announced and sounds again.
     * @type {Map<string, number>}
     */
    this.known = new Map();
    /** Alerts in force that are not acknowledged, the gravest first. @type {any[]} */
    this.open = [];
    this.shown = ""; // the bed that is shown
    this.lost = "";
    this.unanalysed = "";
    this.pausedRank = 3;
    this.pausedUntilMs = 0;
    this.burstMs = -Infinity;
    this.burstEndMs = -Infinity;
    this.playedMs = -Infinity; // when the browser was last found playing
    /** @type {AudioContext|null} */
    this.audio = null;
    parts.sound.addEventListener("click", () => this.toggleSound());
    parts.pause.addEventListener("click", () => this.togglePause());
  }

  /**
   * Take over the alerts in force.
   * @param {Map<string, any[]>} alerts of each stream
   * @param {number} nowMs
   */
  update(alerts, nowMs) {
    const before = new Set(this.open.map(({ id }) => id));
    const inForce = [];
    for (const [stream, list] of alerts) {
      for (const alert of list) inForce.push({ ...alert, stream });
    }
    this.open = byPriority(inForce.filter((alert) => alert.state !== "ack"));
    const added = this.open.filter((alert) => !this.known.has(nameOf(alert)));
    for (const alert of inForce) this.known.set(nameOf(alert), nowMs);
    for (const [name, seenMs] of this.known) if (nowMs - seenMs > FORGET_MS) this.known.delete(name);
    const lasting = this.open.find(({ id }) => before.has(id));
    if (!this.lost && !this.unanalysed) this.pausedRank = Math.max(this.pausedRank, rank(lasting?.priority)); // its cause is over
    this.#endPause();
    if (added.length) this.#added(added, nowMs);
    this.#count(inForce);
    this.#showElsewhere();
    this.tick(nowMs); // a tab in the background draws no frames, but sounds
  }

  /** Show the gravest alarm of any other bed. @param {string} stream the bed that is shown; empty: the ward */
  setShown(stream) {
    this.shown = stream;
    this.#showElsewhere();
  }

  #showElsewhere() {
    const alert = this.shown ? this.open.find(({ stream }) => stream !== this.shown) : undefined;
    const { elsewhere } = this.parts;
    elsewhere.hidden = !alert;
    if (!alert) return;
    elsewhere.href = `#/bed/${encodeURIComponent(alert.stream)}`;
    const line = alarmLine({ ...alert, text: `${alert.stream}: ${shortName(alert)}` });
    if (elsewhere.firstChild?.isEqualNode(line)) return;
    elsewhere.replaceChildren(line);
  }

  /** The gravest alarm that is not acknowledged, for the title of the tab; empty if there is none. */
  get gravest() {
    if (this.lost) return "Disconnected";
    const [alert] = this.open;
    if (this.unanalysed && rank(alert?.priority) > LOST) return "Not analysed";
    return alert ? `${STARS[alert.priority]} ${alert.stream} ${shortName(alert)}` : "";
  }

  /** @param {string} lost why what is shown is old; empty: it is not @param {number} nowMs */
  setLost(lost, nowMs) {
    if (lost !== this.lost) {
      this.parts.announce.textContent = lost ? `Medium alarm. ${lost}` : "Connected again";
      this.lost = lost;
      this.burstMs = -Infinity;
      this.#endPause();
    }
    this.tick(nowMs);
  }

  /** @param {string} text that no monitor analyses some beds; empty: all are @param {number} nowMs */
  setUnanalysed(text, nowMs) {
    if (text === this.unanalysed) return;
    this.unanalysed = text;
    if (text) this.parts.announce.textContent = `Medium alarm. ${text}`;
    if (this.sounding === LOST) this.burstMs = -Infinity;
    this.#endPause();
    this.tick(nowMs);
  }

  /** Rank of what sounds, 3 if nothing does. */
  get sounding() {
    return this.lost ? LOST : Math.min(rank(this.open[0]?.priority), this.unanalysed ? LOST : 3);
  }

  #endPause() {
    if (this.sounding < this.pausedRank) this.pausedUntilMs = 0;
  }

  #added(added, nowMs) {
    const [first] = added;
    if (rank(first.priority) <= this.sounding) this.burstMs = Math.min(this.burstMs, nowMs - BURSTS[first.priority].every);
    const rest = added.length > 1 ? ` and ${added.length - 1} more` : "";
    this.parts.announce.textContent = `${first.priority} alarm, ${first.stream}: ${[parts(first)[0], standing(first)].join(" ").trim()}${rest}`;
  }

  #count(inForce) {
    const shown = PRIORITIES.map((priority) => [priority, inForce.filter((alert) => alert.priority === priority)])
      .filter(([, list]) => list.length)
      .map(([priority, list]) => {
        const steady = list.every((alert) => alert.state === "ack") ? " steady" : "";
        const line = element("span", `alarm ${priority}${steady}`);
        line.append(element("span", "stars", STARS[priority]), element("span", "what", `${list.length} ${priority}`));
        return line;
      });
    const text = shown.map((line) => line.className + line.textContent).join();
    if (text === this.countText) return;
    this.countText = text;
    this.parts.counts.replaceChildren(...shown);
  }

  /** Set the phases of flashing, the countdown, and sound what is due. @param {number} nowMs */
  tick(nowMs) {
    const { classList } = document.body;
    const steady = this.still.matches;
    const on = (hz) => steady || (nowMs * hz) / 1000 % 1 < 0.5;
    if (this.high !== on(HIGH_HZ)) classList.toggle("high-phase", (this.high = on(HIGH_HZ)));
    if (this.medium !== on(MEDIUM_HZ)) classList.toggle("medium-phase", (this.medium = on(MEDIUM_HZ)));
    this.#label(nowMs);
    this.#sound(nowMs);
  }

  #label(nowMs) {
    const { sound, pause } = this.parts;
    const isOn = this.audio !== null;
    if (!isOn || this.audio.state === "running") this.playedMs = nowMs;
    const isStopped = nowMs - this.playedMs > STOPPED_MS;
    setText(sound, isStopped ? "Sound stopped by the browser" : isOn ? "Sound on" : "Sound off");
    if (sound.getAttribute("aria-pressed") !== String(isOn)) sound.setAttribute("aria-pressed", String(isOn));
    if (pause.hidden === isOn) pause.hidden = !isOn;
    const left = (this.pausedUntilMs - nowMs) / 1000;
    setText(pause, left > 0 ? `Sound paused ${countdown(left)}` : "Pause sound 2 min");
  }

  /** Switch the sound on or off. */
  toggleSound() {
    if (this.audio) {
      this.audio.close();
      this.audio = null;
    } else {
      this.audio = new AudioContext();
      this.burstMs = -Infinity;
    }
    this.pausedUntilMs = 0;
    this.tick(performance.now());
  }

  /** Pause the sound for two minutes, or end the pause. */
  togglePause() {
    if (!this.audio) return;
    const nowMs = performance.now();
    this.pausedUntilMs = this.isPaused(nowMs) ? 0 : nowMs + PAUSE_MS;
    this.pausedRank = this.sounding;
    this.tick(nowMs);
  }

  /** @param {number} nowMs */
  isPaused(nowMs) {
    return nowMs < this.pausedUntilMs;
  }

  #sound(nowMs) {
    if (!this.audio || this.sounding > 2 || this.isPaused(nowMs)) return;
    const burst = BURSTS[PRIORITIES[this.sounding]];
    if (nowMs - this.burstMs < burst.every || nowMs < this.burstEndMs) return;
    if (this.audio.state !== "running") { // a call or another program has taken the loudspeaker
      this.audio.resume().catch(() => {});
      return;
    }
    this.burstMs = nowMs;
    this.burstEndMs = nowMs + 1000 * (burst.beeps.at(-1)[0] + 2 * BEEP_S);
    for (const [startS, hz] of burst.beeps) this.#beep(this.audio.currentTime + 0.02 + startS, hz);
  }

  #beep(atS, hz) {
    const tone = this.audio.createOscillator();
    const level = this.audio.createGain();
    tone.frequency.value = hz;
    level.gain.setValueAtTime(0, atS);
    level.gain.linearRampToValueAtTime(VOLUME, atS + 0.02);
    level.gain.setValueAtTime(VOLUME, atS + BEEP_S - 0.04);
    level.gain.linearRampToValueAtTime(0, atS + BEEP_S);
    tone.connect(level).connect(this.audio.destination);
    tone.start(atS);
    tone.stop(atS + BEEP_S);
  }
}
