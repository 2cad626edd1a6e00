/**
 * The WebSocket, opened again when it closes.
 *
 * Out: callbacks `state` ("connecting", "open", "waiting" with the time of the next attempt, "denied"), `json` (a message),
 * `frame` (ArrayBuffer). A browser cannot read why a handshake failed; a plain request tells denied from disconnected.
 */

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;
const SILENCE_MS = 5000; // the server sends the ward once a second: after this time without a message it is gone

export class Connection {
  /** @param {{state: (state: string, nextMs: number) => void, json: (message: any, bytes: number) => void,
   *   frame: (buffer: ArrayBuffer) => void}} on */
  constructor(on) {
    this.on = on;
    this.waitMs = FIRST_WAIT_MS;
    this.socket = null;
    this.heardMs = 0;
    setInterval(() => this.#check(), 1000);
  }

  /** Open the socket now. */
  open() {
    this.on.state("connecting", 0);
    const url = new URL("/live", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.waitMs = FIRST_WAIT_MS;
      this.heardMs = performance.now();
      this.on.state("open", 0);
    };
    socket.onmessage = ({ data }) => {
      this.heardMs = performance.now();
      if (typeof data === "string") this.on.json(JSON.parse(data), data.length);
      else this.on.frame(data);
    };
    socket.onclose = () => this.#closed(socket);
    this.socket = socket;
  }

  /** Send a message; it is left out while the socket is not open. @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  async #closed(socket) {
    if (socket !== this.socket) return;
    this.socket = null;
    const nextMs = performance.now() + this.waitMs;
    this.on.state("waiting", nextMs);
    if (await isDenied()) this.on.state("denied", nextMs);
    setTimeout(() => this.open(), Math.max(0, nextMs - performance.now()));
    this.waitMs = Math.min(2 * this.waitMs, LONGEST_WAIT_MS);
  }

  #check() {
    const { socket } = this;
    if (socket?.readyState !== WebSocket.OPEN || performance.now() - this.heardMs < SILENCE_MS) return;
    socket.onmessage = null;
    socket.close();
    this.#closed(socket);
  }
}

async function isDenied() {
  try {
    const answer = await fetch("/rules.json", { cache: "no-store" });
    return answer.status === 401 || answer.status === 403;
  } catch {
    return false;
  }
}
