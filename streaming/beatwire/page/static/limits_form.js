/**
 * The limits of a bed: shown when they are opened, changed with a name.
 *
 * In: rows of the server, one for each rule whose limit can be set. Out: `ask` for the rows, `save` with what differs
 * from them. An empty field is the default. Nothing is sent before Save, and nothing that the browser finds wrong. While
 * the server saves, nothing can be entered: its answer replaces the rows. On a new connection the rows come anew, and
 * what was entered and not saved stays.
 */

import { element, setText } from "./text.js";

export class LimitsForm {
  /**
   * @param {HTMLDetailsElement} details
   * @param {HTMLInputElement} name of who does it
   * @param {{ask: () => void, save: (limits: Record<string, number|null>, by: string) => void}} on
   */
  constructor(details, name, on) {
    this.details = details;
    this.name = name;
    this.on = on;
    this.form = details.querySelector("form");
    this.rows = details.querySelector("tbody");
    this.said = details.querySelector(".said");
    this.fields = details.querySelector("fieldset");
    /** @type {{rule: string, title: string, unit: string, value: number, default: number, least: number, most: number}[]} */
    this.limits = [];
    details.addEventListener("toggle", () => {
      this.limits = [];
      if (details.open) on.ask();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  /** Another bed is shown, or none. */
  restart() {
    this.details.open = false;
    this.limits = [];
    this.rows.replaceChildren();
    setText(this.said, "");
  }

  /** @param {boolean} writable the server takes changes */
  setWritable(writable) {
    this.details.hidden = !writable;
  }

  /** @param {boolean} isOpen the connection: only then something can be saved */
  setOpen(isOpen) {
    this.fields.disabled = !isOpen;
    if (isOpen && this.details.open) this.on.ask();
  }

  /** @param {any} message of type limits */
  show({ limits, saved, replaced, warning }) {
    const entered = saved || replaced ? [] : this.#entered();
    this.limits = limits;
    const focused = document.activeElement?.name;
    this.rows.replaceChildren(...limits.map((row) => this.#row(row)));
    for (const [rule, text] of entered) if (this.form.elements[rule]) this.form.elements[rule].value = text;
    this.fields.disabled = false;
    if (focused) this.form.elements[focused]?.focus();
    const other = replaced && `${replaced.by} entered limits at the same time; they are replaced by these: compare both.`;
    const kept = this.#entered().length ? "What is entered is not saved yet." : "";
    setText(this.said, [other || (saved ? "In force within a second." : kept), warning].filter(Boolean).join(" "));
  }

  /** @param {string} text why nothing was saved */
  fail(text) {
    this.fields.disabled = false;
    setText(this.said, text);
  }

  #row({ rule, title, unit, value, least, most, default: usual }) {
    const row = document.createElement("tr");
    const field = document.createElement("input");
    Object.assign(field, { type: "number", name: rule, min: String(least), max: String(most), step: "any", placeholder: String(usual) });
    field.value = value === usual ? "" : String(value);
    field.title = `${least} to ${most} ${unit}; empty: the default, ${usual} ${unit}`;
    field.setAttribute("aria-label", `${title}, ${unit}`);
    const cells = [element("th", "", title), element("td", ""), element("td", "unit", unit)];
    cells[1].append(field);
    row.append(...cells);
    return row;
  }

  /** What differs from the rows of the server: each rule and its text. */
  #entered() {
    return this.limits.flatMap(({ rule, value, default: usual }) => {
      const text = this.form.elements[rule].value;
      return (text === "" ? usual : Number(text)) === value ? [] : [[rule, text]];
    });
  }

  #save() {
    const changed = this.#entered().map(([rule, text]) => [rule, text === "" ? null : Number(text)]);
    if (!changed.length) return setText(this.said, "Nothing is changed.");
    const by = this.name.value.trim();
    if (!by) {
      setText(this.said, "A name is needed, above.");
      return this.name.focus();
    }
    setText(this.said, "Saving.");
    this.fields.disabled = true;
    return this.on.save(Object.fromEntries(changed), by);
  }
}
