/**
 * The alerts of a bed with their definition, and their acknowledgement with a name.
 *
 * In: alerts in force, definitions of the rules. Out: a list; `acknowledge` with the alert's id and a name. The name is kept
 * in sessionStorage, for this tab only. Without a name nothing is acknowledged: the field asks for one, for this alert and
 * no other, until it is left or the alert has ended.
 */

import { alarmLine, byPriority, element, parts, since } from "./text.js";

const KEY = "beatwire.name";
const DAY_US = 86_400e6;

export class AlertsList {
  /**
   * @param {HTMLElement} list
   * @param {HTMLInputElement} name
   * @param {(alert: string, by: string) => void} acknowledge
   * @param {() => number} nowUs the server's clock: this browser's may be of another day
   */
  constructor(list, name, acknowledge, nowUs) {
    this.list = list;
    this.name = name;
    this.acknowledge = acknowledge;
    this.nowUs = nowUs;
    this.writable = true;
    this.isOpen = false; // the connection
    this.rules = new Map();
    this.alerts = [];
    this.shown = "";
    this.wanted = null;
    this.open = new Set(); // ids of alerts whose definition is open
    name.value = sessionStorage.getItem(KEY) ?? "";
    name.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.wanted) this.#send(this.wanted);
      else name.blur();
    });
    name.addEventListener("blur", () => {
      if (document.activeElement !== name) this.forget(); // it stays the active one when the whole window is left
    });
  }

  /** Do not acknowledge what waits for a name. */
  forget() {
    this.wanted = null;
    this.name.placeholder = "";
  }

  /** @param {{rule: string, title: string, definition: string}[]} rules */
  define(rules) {
    this.rules = new Map(rules.map((rule) => [rule.rule, rule]));
    this.shown = "";
    this.update(this.alerts);
  }

  /** @param {import("./store.js").Alert[]} alerts in force */
  update(alerts) {
    this.alerts = byPriority(alerts);
    if (this.wanted && !alerts.some(({ id, state }) => id === this.wanted && state !== "ack")) this.forget();
    const nowUs = this.nowUs();
    const today = Math.floor(nowUs / DAY_US); // another day: times of yesterday get a date
    const text = JSON.stringify([this.alerts, this.writable, this.isOpen, today]);
    if (text === this.shown) return;
    this.shown = text;
    const focused = document.activeElement?.dataset?.alert;
    const items = this.alerts.map((alert) => this.#item(alert, nowUs));
    this.list.replaceChildren(...(items.length ? items : [element("li", "none", "None.")]));
    if (focused) this.list.querySelector(`[data-alert="${CSS.escape(focused)}"]`)?.focus();
  }

  #item(alert, nowUs) {
    const item = element("li", "");
    const begun = `${alert.state === "latched" ? "Over, not acknowledged. " : ""}Since ${since(alert.onset_us, nowUs)}`;
    const by = alert.state === "ack" && alert.ack_us ? `, acknowledged by ${alert.ack_by} at ${since(alert.ack_us, nowUs)}` : "";
    const definition = alert.definition ?? this.rules.get(alert.rule)?.definition; // with the limit of this stream
    item.append(alarmLine(alert), element("p", "when", begun + by));
    const [, about] = parts(alert);
    if (about) item.append(element("p", "when", about));
    if (definition) item.append(this.#definition(definition, alert.id));
    if (alert.state !== "ack" && this.writable) item.append(this.#button(alert));
    return item;
  }

  /** The first sentence, and the whole behind a click; what is open stays so. */
  #definition(text, id) {
    const end = text.indexOf(". ") + 1;
    if (!end) return element("p", "definition", text);
    const details = element("details", "definition");
    details.open = this.open.has(id);
    details.addEventListener("toggle", () => (details.open ? this.open.add(id) : this.open.delete(id)));
    details.append(element("summary", "", text.slice(0, end)), text.slice(end + 1));
    return details;
  }

  #button(alert) {
    const button = element("button", "", this.isOpen ? "Acknowledge (a)" : "Disconnected: cannot acknowledge");
    button.type = "button";
    button.disabled = !this.isOpen;
    button.dataset.alert = alert.id;
    button.setAttribute("aria-label", `Acknowledge ${parts(alert)[0]}`);
    button.addEventListener("click", () => this.#send(alert.id));
    return button;
  }

  /** Acknowledge the alert with the highest priority that is not acknowledged yet. */
  first() {
    const open = this.alerts.find((alert) => alert.state !== "ack");
    if (open && this.writable) this.#send(open.id);
  }

  #send(alert) {
    if (!this.isOpen) return; // the button says so
    const by = this.name.value.trim();
    if (!by) {
      this.wanted = alert;
      this.name.placeholder = "A name, then Enter";
      this.name.focus();
      return;
    }
    this.forget();
    sessionStorage.setItem(KEY, by);
    this.name.blur();
    this.acknowledge(alert, by);
  }
}
