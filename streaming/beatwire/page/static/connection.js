/**
 * The WebSocket, opened again when it closes, or when nothing comes.
 *
 * Out: callbacks `state` ("connecting", "open", "waiting" with the time of the next attempt and what the server gave as
 * reason, "denied"), `json` (a message), `frame` (ArrayBuffer). It is open from the first message on. A browser cannot read
 * why a handshake failed; a plain request tells denied from disconnected.
 */

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;
const SILENCE_MS = 5000; // the server sends the ward once a second: after this time without a message it is gone

export class Connection {
  /** @param {{state: (state: string, nextMs: number, reason: string) => void, json: (message: any, bytes: number) => void,
   *   frame: (buffer: ArrayBuffer) => void}} on */
  constructor(on) {
    this.on = on;
    this.waitMs = FIRST_WAIT_MS;
    this.socket = null;
    this.isOpen = false;
    this.heardMs = 0;
    setInterval(() => this.#check(), 1000);
  }

  /** Open the socket now. */
  open() {
    this.on.state("connecting", 0, "");
    const url = new URL("/live", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      this.heardMs = performance.now();
      if (!this.isOpen) this.#opened();
      if (typeof data === "string") this.on.json(JSON.parse(data), data.length);
      else this.on.frame(data);
    };
    socket.onclose = ({ reason }) => this.#closed(socket, reason);
    this.socket = socket;
    this.heardMs = performance.now();
  }

  /** Send a message; it is left out while the socket is not open. @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  #opened() {
    this.isOpen = true;
    this.waitMs = FIRST_WAIT_MS;
    this.on.state("open", 0, "");
  }

  #closed(socket, reason) {
    if (socket !== this.socket) return;
    this.socket = null;
    this.isOpen = false;
    const nextMs = performance.now() + this.waitMs;
    this.on.state("waiting", nextMs, reason);
    setTimeout(() => this.open(), this.waitMs);
    this.waitMs = Math.min(2 * this.waitMs, LONGEST_WAIT_MS);
    isDenied().then((denied) => {
      if (denied && this.socket === null) this.on.state("denied", nextMs, "");
    });
  }

  /** Give up a socket from which nothing comes: where packets are dropped neither its opening nor its closing ends. */
  #check() {
    const { socket } = this;
    if (socket === null || performance.now() - this.heardMs < SILENCE_MS) return;
    socket.onmessage = null;
    socket.close();
    this.#closed(socket, "");
  }
}

async function isDenied() {
  try {
    const answer = await fetch("/rules.json", { cache: "no-store", signal: AbortSignal.timeout(SILENCE_MS) });
    return answer.status === 401 || answer.status === 403;
  } catch {
    return false;
  }
}
