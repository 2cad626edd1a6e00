/**
 * Words and figures of the page: times with their zone, numbers with their unit, alerts with their stars, millimetres.
 */

export const PX_PER_MM = 96 / 25.4; // as style sheets define the millimetre
const LATEST_MS = 2 ** 54 / 1000; // the year 2540, as the server has it; a year of four digits either way
export const STARS = { high: "***", medium: "**", low: "*" };
const RANKS = { high: 0, medium: 1, low: 2 };
const STATES = { on: 0, latched: 1, ack: 2 }; // what goes on stands before what has ended
const LETTERS = { normal: "N", anomalous: "A", premature: "P", unscored: "-" };

/** Rank of a priority: 0 is the highest; 3: none. @param {string|undefined} priority */
export function rank(priority) {
  return RANKS[priority] ?? 3;
}

/** Alerts in the order of `Alerts.in_force` of the server: by priority, state, the newest first. @param {any[]} alerts */
export function byPriority(alerts) {
  return [...alerts].sort((a, b) => rank(a.priority) - rank(b.priority) || STATES[a.state] - STATES[b.state]
    || b.decided_us - a.decided_us);
}

/** A time that a calendar has. @param {number} us microseconds since 1970, UTC; any number, as a message may hold it */
function date(us) {
  return new Date(Math.max(-LATEST_MS, Math.min(us / 1000, LATEST_MS))).toISOString();
}

/** Time of day, e.g. "12:03:07 UTC". @param {number} us microseconds since 1970, UTC */
export function clockTime(us) {
  return `${date(us).slice(11, 19)} UTC`;
}

/** Time of day, after its date if that is not today's, e.g. "2026-11-26 12:03:07 UTC". @param {number} us @param {number} nowUs */
export function since(us, nowUs) {
  const day = date(us).slice(0, 10);
  return day === date(nowUs).slice(0, 10) ? clockTime(us) : `${day} ${clockTime(us)}`;
}

/** Minutes and seconds, e.g. "1:05". @param {number} seconds */
export function countdown(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** A figure, or "--" if there is none. @param {number|null|undefined} value @param {number} digits */
export function figure(value, digits = 0) {
  return value === null || value === undefined || Number.isNaN(value) ? "--" : value.toFixed(digits);
}

/** Mains hum of a lead, e.g. "hum 50 Hz 0.4 mV"; empty without any. @param {{hz: number, mv: number|null}|null|undefined} hum */
export function humText(hum) {
  return hum ? `hum ${hum.hz} Hz${hum.mv === null ? "" : ` ${Number(hum.mv.toFixed(2))} mV`}` : "";
}

/** True for a beat that the rule "anomalous beats" counts. @param {{class: string}} beat */
export function isStrange(beat) {
  return beat.class === "anomalous" || beat.class === "premature";
}

/**
 * The letter of a beat: N normal, S supraventricular, V ventricular, Q cannot tell. Of a monitor that determines no
 * classes: N normal, A anomalous, P premature and anomalous, - not scored.
 * @param {{class: string, beat_class: string|null}} beat
 */
export function letter(beat) {
  return beat.beat_class ?? LETTERS[beat.class] ?? "?";
}

/**
 * The colour of a beat: that of its class if it is S or V, that of text if it is anomalous, else `usual`.
 * @param {{class: string, beat_class: string|null}} beat
 * @param {Record<string, string>} colours
 * @param {string} usual
 */
export function colourOf(beat, colours, usual) {
  return colours[`class-${beat.beat_class?.toLowerCase()}`] ?? (isStrange(beat) ? colours.text : usual);
}

/** True for a beat that is drawn larger: anomalous, or neither N nor Q. @param {{class: string, beat_class: string|null}} beat */
export function standsOut(beat) {
  return isStrange(beat) || beat.beat_class === "S" || beat.beat_class === "V";
}

/** How an alert stands, e.g. "latched" or "ack Kim". @param {any} alert */
export function standing(alert) {
  if (alert.state === "ack") return `ack ${alert.ack_by ?? ""}`;
  return alert.state === "latched" ? "latched" : "";
}

/**
 * An element with a class and text.
 * @param {string} tag
 * @param {string} name of the class
 * @param {string} text
 */
export function element(tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

/** Set the text of an element if it differs: the page is laid out again only then. @param {Element} at @param {string} text */
export function setText(at, text) {
  if (at.textContent !== text) at.textContent = text;
}

/**
 * What an alert says, and what it adds about the signal. That it has ended is its standing, not its name.
 * @param {any} alert
 * @returns {[string, string]}
 */
export function parts(alert) {
  const [, what, about] = /^(?:ended, not acknowledged: )?(.*?)(?: \((signal doubtful)\))?$/.exec(alert.text) ?? [null, alert.text, ""];
  return [what, about ?? ""];
}

/** The name of an alert without its figures, e.g. "asystole". @param {any} alert */
export function shortName(alert) {
  return parts(alert)[0].split(": ")[0];
}

/**
 * One line about an alert: stars, words, standing.
 * @param {any} alert
 * @param {number} more further alerts
 * @param {string} what its words
 */
export function alarmLine(alert, more = 0, what = parts(alert)[0]) {
  const line = element("span", `alarm ${alert.priority}${alert.state === "ack" ? " steady" : ""}`);
  line.append(element("span", "stars", STARS[alert.priority]), element("span", "what", what));
  if (standing(alert)) line.append(element("span", "how", standing(alert)));
  if (more) line.append(element("span", "more", `+${more}`));
  return line;
}
