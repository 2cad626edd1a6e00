/**
 * The ward: a list of tiles that scrolls through thousands of streams.
 *
 * In: the part of the list that the server sent. Out: tiles; which part to ask for; which streams are visible.
 * The server sorts. A tile keeps its place and its focus while the order does not change. Only visible tiles are watched
 * and drawn; only the part of the list around them exists on the page.
 */

import { Tile } from "./tile.js";

const TILE_WIDTH = 292; // CSS pixels at least
const TILE_HEIGHT = 148; // at least, and where the list scrolls
const LINE = { width: 420, height: 32 }; // of a bed in the list without traces
const TALLEST = 336;
const WIDE = 2.2; // a tile that is wider than this many heights gains nothing
const GAP = 8;
const WRITTEN = 8; // tiles whose text is written in one frame: all are within a quarter of a second
const MOST = 64; // tiles that are asked for and watched at most
const MOST_LINES = 200; // that are asked for at most
const KEPT = { compact: "beatwire.compact", alarmsOnly: "beatwire.alarmsOnly" };

/**
 * Columns and height of the tiles: all on the screen and as large as they can be, or else a list that scrolls.
 * @param {number} width CSS pixels
 * @param {number} height CSS pixels
 * @param {number} total tiles
 * @param {boolean} compact lines without traces
 * @returns {{columns: number, tile: number}}
 */
function arrange(width, height, total, compact) {
  if (compact) return { columns: Math.max(1, Math.floor((width + GAP) / (LINE.width + GAP))), tile: LINE.height };
  const fitting = Math.max(1, Math.floor((width + GAP) / (TILE_WIDTH + GAP)));
  let best = { columns: fitting, tile: TILE_HEIGHT, size: 0 };
  for (let columns = 1; columns <= fitting && total > 0; columns += 1) {
    const rows = Math.ceil(total / columns);
    const tile = Math.min(TALLEST, Math.floor((height - GAP) / rows) - GAP);
    const size = tile * Math.min((width + GAP) / columns - GAP, WIDE * tile);
    if (tile >= TILE_HEIGHT && size > best.size) best = { columns, tile, size };
  }
  if (best.size) return best;
  const rows = Math.ceil(height / (TILE_HEIGHT + GAP));
  return { columns: Math.min(fitting, Math.max(1, Math.floor(MOST / rows))), tile: TILE_HEIGHT };
}

export class Ward {
  /**
   * @param {import("./store.js").Store} store
   * @param {{only: HTMLButtonElement, compact: HTMLButtonElement}} buttons
   * @param {{ask: (part: {query: string, offset: number, limit: number, alarms_only: boolean}) => void, watch: (ids: string[]) => void}} on
   * @param {{ink: string, surface: string}} colours
   */
  constructor(store, buttons, on, colours) {
    this.store = store;
    this.buttons = buttons;
    this.on = on;
    this.colours = colours;
    this.alarmsOnly = sessionStorage.getItem(KEPT.alarmsOnly) === "true";
    this.compact = localStorage.getItem(KEPT.compact) === "true";
    buttons.only.addEventListener("click", () => this.toggleOnly());
    buttons.compact.addEventListener("click", () => this.toggleCompact());
    this.section = document.getElementById("ward");
    this.list = document.getElementById("list");
    this.spacer = document.getElementById("spacer");
    this.grid = document.getElementById("tiles");
    this.template = document.getElementById("tile-template");
    /** @type {Map<string, Tile>} */
    this.tiles = new Map();
    this.order = "";
    /** Tiles whose text is to be written. @type {Set<string>} */
    this.due = new Set();
    this.isShown = false;
    this.query = "";
    this.part = {};
    this.total = 0;
    this.sight = new IntersectionObserver((entries) => this.#seen(entries), { root: this.list });
    this.list.addEventListener("scroll", () => this.#ask(false), { passive: true });
    new ResizeObserver(() => this.#measure()).observe(this.list);
    this.grid.addEventListener("keydown", (event) => this.#move(event));
    this.#showButtons();
  }

  /** Show only beds with an alarm, or all. In this tab only: a page that is opened shows every bed. */
  toggleOnly() {
    this.alarmsOnly = !this.alarmsOnly;
    sessionStorage.setItem(KEPT.alarmsOnly, String(this.alarmsOnly));
    this.#showButtons();
    this.list.scrollTop = 0;
    this.#ask(true);
  }

  /** Show lines without traces, or tiles. */
  toggleCompact() {
    this.compact = !this.compact;
    localStorage.setItem(KEPT.compact, String(this.compact));
    this.#showButtons();
    this.list.scrollTop = 0;
    this.#measure();
    this.#ask(true);
  }

  #showButtons() {
    this.buttons.only.setAttribute("aria-pressed", String(this.alarmsOnly));
    this.buttons.compact.setAttribute("aria-pressed", String(this.compact));
    this.section.classList.toggle("compact", this.compact);
  }

  get most() {
    return this.compact ? MOST_LINES : MOST;
  }

  /** Show the ward and ask for what is visible. */
  show() {
    this.isShown = true;
    this.section.hidden = false;
    this.#measure();
    this.#ask(true);
    this.#watch();
    if (this.left) this.tiles.get(this.left)?.link.focus();
  }

  /** Hide the ward; remember where the focus was. */
  hide() {
    this.left = document.activeElement?.closest?.("[data-stream]")?.dataset.stream ?? this.left;
    this.isShown = false;
    this.section.hidden = true;
  }

  /** Show only streams whose id contains the text. @param {string} query */
  search(query) {
    this.query = query;
    this.list.scrollTop = 0;
    this.#ask(true);
  }

  /** Ask again and watch again, on a new connection. */
  resume() {
    this.#ask(true);
    this.watched = "";
    this.#watch();
  }

  #measure() {
    const [width, height] = [this.spacer.clientWidth, this.list.clientHeight];
    if (width <= 0) return;
    const { columns, tile } = arrange(width, height, this.total, this.compact);
    this.columns = columns;
    this.row = tile + (this.compact ? 0 : GAP);
    this.rows = Math.min(Math.ceil(height / this.row) + 1, Math.ceil(this.most / columns));
    this.grid.style.setProperty("--columns", columns);
    this.grid.style.setProperty("--tile-height", `${tile}px`);
    this.#layOut();
    const canvas = this.grid.querySelector("canvas");
    this.size = canvas ? [canvas.clientWidth, canvas.clientHeight] : null;
    if (this.size) for (const tile of this.tiles.values()) tile.trace.measure(...this.size);
    this.#ask(false);
  }

  #ask(always) {
    if (!this.columns || !this.isShown) return;
    const above = Math.max(0, Math.floor(this.list.scrollTop / this.row) - (this.rows * this.columns < this.most ? 1 : 0));
    const offset = Math.min(above, Math.max(0, Math.ceil(this.total / this.columns) - 1)) * this.columns;
    const limit = Math.min(this.most, (this.rows + 2) * this.columns);
    const part = { query: this.query, offset, limit, alarms_only: this.alarmsOnly };
    if (!always && JSON.stringify(part) === JSON.stringify(this.part)) return;
    this.part = part;
    this.on.ask(part);
  }

  /** Show a part of the list. @param {{total: number, offset: number, beds: any[]}} message */
  update({ total, offset, beds }) {
    this.offset = offset;
    if (total !== this.total) {
      this.total = total;
      this.#measure();
    }
    const shown = new Set(beds.map((bed) => bed.stream));
    for (const [id, tile] of this.tiles) if (!shown.has(id)) this.#remove(id, tile);
    for (const bed of beds) {
      if (!this.tiles.has(bed.stream)) this.#add(bed.stream).update();
      else this.due.add(bed.stream);
    }
    const order = beds.map((bed) => bed.stream).join("\n");
    if (order !== this.order) this.#arrange(beds);
    this.order = order;
    this.#layOut();
  }

  #add(id) {
    const tile = new Tile(this.template, this.store.stream(id), this.colours);
    this.tiles.set(id, tile);
    this.grid.append(tile.item);
    if (!this.size) {
      const canvas = tile.trace.canvas;
      this.size = canvas.clientWidth ? [canvas.clientWidth, canvas.clientHeight] : null;
    }
    if (this.size) tile.trace.measure(...this.size);
    this.sight.observe(tile.item);
    return tile;
  }

  #remove(id, tile) {
    this.sight.unobserve(tile.item);
    tile.item.remove();
    this.tiles.delete(id);
  }

  #arrange(beds) {
    const focused = document.activeElement;
    let at = this.grid.firstElementChild;
    for (const bed of beds) {
      const { item } = this.tiles.get(bed.stream);
      if (item === at) at = at.nextElementSibling;
      else this.grid.insertBefore(item, at);
    }
    if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
  }

  #layOut() {
    if (!this.columns) return;
    const rows = Math.ceil(this.total / this.columns);
    this.spacer.style.height = `${rows * this.row}px`;
    this.grid.style.top = `${Math.floor((this.offset ?? 0) / this.columns) * this.row}px`;
  }

  #seen(entries) {
    for (const entry of entries) {
      const tile = this.tiles.get(entry.target.dataset.stream);
      if (tile) tile.visible = entry.isIntersecting;
    }
    this.#watch();
  }

  #watch() {
    if (!this.isShown) return;
    const ids = [];
    for (const [id, tile] of this.tiles) if (tile.visible && ids.length < MOST) ids.push(id);
    const watched = ids.sort().join("\n");
    if (watched === this.watched && ids.length === this.store.watched.length) return;
    this.watched = watched;
    this.on.watch(ids);
  }

  /** Arrow keys move from tile to tile. */
  #move(event) {
    const item = event.target.closest?.("li");
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }[event.key];
    if (!item || !step) return;
    const next = this.grid.children[[...this.grid.children].indexOf(item) + step];
    if (!next) return;
    event.preventDefault();
    next.firstElementChild.focus();
  }

  /** Draw the visible tiles, and write the text of some that have changed. @param {number} nowMs */
  draw(nowMs) {
    const nowUs = this.store.nowUs();
    for (const tile of this.tiles.values()) if (tile.visible) tile.draw(nowMs, nowUs);
    let left = WRITTEN;
    for (const id of this.due) {
      this.due.delete(id);
      this.tiles.get(id)?.update();
      if ((left -= 1) === 0) break;
    }
  }

  /** The drawn state of each visible stream, for tests. @returns {Map<string, import("./trace.js").SweepTrace>} */
  drawn() {
    return new Map([...this.tiles].filter(([, tile]) => tile.ring).map(([id, tile]) => [id, tile.trace]));
  }
}
