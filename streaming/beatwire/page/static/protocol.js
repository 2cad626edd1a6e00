/**
 * Messages between this page and the server (`beatwire.page`).
 *
 * In: ArrayBuffers of the WebSocket. Out: frames of sample blocks.
 * A frame is little-endian: a header of 16 bytes, then blocks, each aligned to 8 bytes: 40 bytes of header, then int16
 * samples, lead after lead. The samples of a block are views into the message, not copies.
 */

export const PROTOCOL = 1;
const MAGIC = 0x42574531; // "BWE1"
export const NO_VALUE = -32768;

const HEADER_BYTES = 16;
const BLOCK_HEADER_BYTES = 40;
const GAP = 1;
const NEW_SESSION = 2;

/**
 * @typedef {object} Block consecutive samples of one stream
 * @property {number} stream number of the stream, constant while the server runs
 * @property {boolean} gap a gap precedes
 * @property {boolean} newSession the device has restarted its count
 * @property {number} n samples of each lead
 * @property {number} rateHz
 * @property {number} first index of the first sample in its session
 * @property {number} timeUs device time of the first sample, microseconds since 1970, UTC
 * @property {number} uvPerUnit microvolts per unit; 0: not calibrated
 * @property {Int16Array[]} leads samples of each lead
 */

/**
 * Decode a binary message.
 * @param {ArrayBuffer} buffer
 * @returns {{number: number, blocks: Block[]}} number of the message, and its blocks
 * @throws {Error} the message is not a frame of this protocol
 */
export function decodeFrame(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER_BYTES || view.getUint32(0, true) !== MAGIC) {
    throw new Error(`protocol: expected a frame that begins with BWE1; got ${buffer.byteLength} other bytes`);
  }
  const blocks = [];
  let offset = HEADER_BYTES;
  for (let k = view.getUint32(8, true); k > 0; k -= 1) {
    const block = decodeBlock(buffer, view, offset);
    blocks.push(block);
    offset += BLOCK_HEADER_BYTES + ((2 * block.leads.length * block.n + 7) & ~7);
  }
  return { number: view.getUint32(4, true), blocks };
}

/**
 * @param {ArrayBuffer} buffer
 * @param {DataView} view
 * @param {number} offset of the block in bytes
 * @returns {Block}
 */
function decodeBlock(buffer, view, offset) {
  const count = view.getUint16(offset + 4, true);
  const flags = view.getUint16(offset + 6, true);
  const n = view.getUint32(offset + 8, true);
  const leads = [];
  for (let lead = 0; lead < count; lead += 1) {
    leads.push(new Int16Array(buffer, offset + BLOCK_HEADER_BYTES + 2 * lead * n, n));
  }
  return {
    stream: view.getUint32(offset, true),
    gap: (flags & GAP) !== 0,
    newSession: (flags & NEW_SESSION) !== 0,
    n,
    rateHz: view.getFloat32(offset + 12, true),
    first: view.getFloat64(offset + 16, true),
    timeUs: view.getFloat64(offset + 24, true),
    uvPerUnit: view.getFloat32(offset + 32, true),
    leads,
  };
}
