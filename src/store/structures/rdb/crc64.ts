/**
 * CRC-64 with the polynomial of Jones (0xad93d23594c935a9), reflected, without
 * inversion at either end: the checksum under Redis' dumps. The 64 bits are
 * kept as two halves of 32.
 */

/** The polynomial with its bits in reverse. */
const POLYNOMIAL_HIGH = 0x95ac9329;
const POLYNOMIAL_LOW = 0xac4bc9b5;

const tableHigh = new Uint32Array(256);
const tableLow = new Uint32Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  let high = 0;
  let low = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    const carries = (low & 1) === 1;
    low = ((low >>> 1) | (high << 31)) >>> 0;
    high >>>= 1;
    if (carries) {
      high = (high ^ POLYNOMIAL_HIGH) >>> 0;
      low = (low ^ POLYNOMIAL_LOW) >>> 0;
    }
  }
  tableHigh[byte] = high;
  tableLow[byte] = low;
}

/** Bytes of a checksum. */
export const CRC64_BYTES = 8;

/** Writes the checksum of the first `end` bytes to `target` at `offset`, lowest byte first. */
export function writeCrc64(bytes: Uint8Array, end: number, target: { buffer: Buffer; offset: number }): void {
  let high = 0;
  let low = 0;
  for (let i = 0; i < end; i += 1) {
    const index = (low ^ (bytes[i] as number)) & 0xff;
    low = (tableLow[index] as number) ^ ((low >>> 8) | (high << 24));
    high = (tableHigh[index] as number) ^ (high >>> 8);
  }
  target.buffer.writeUInt32LE(low >>> 0, target.offset);
  target.buffer.writeUInt32LE(high >>> 0, target.offset + 4);
}
