/**
 * Writes a JSON answer: text piece by piece, and lists of floats directly as
 * bytes. Pieces of text are collected in a string until the next list, because
 * small writes are expensive. The caller is responsible for valid JSON.
 */
import { FLOAT32_TEXT_BYTES_MAX, writeFloat32List } from "../../kernel/float32/text.ts";

/** JSON as text, or as its bytes in UTF-8. */
export type JsonBody = string | Buffer;

/** Collected text is written at this length, so that it does not grow with the answer. */
const GATHERED_LENGTH_MAX = 65_536;
/** The most UTF-8 bytes of one code unit. */
const UNIT_BYTES_MAX = 3;

const NO_BYTES = Buffer.alloc(0);

export class JsonWriter {
  #buffer: Buffer;
  #length = 0;
  #gathered = "";

  /** `expectedBytes`: initial size of the buffer; the answer may be longer. */
  constructor(expectedBytes: number) {
    this.#buffer = expectedBytes > GATHERED_LENGTH_MAX ? Buffer.allocUnsafeSlow(expectedBytes) : NO_BYTES;
  }

  text(piece: string): void {
    this.#gathered += piece;
    if (this.#gathered.length >= GATHERED_LENGTH_MAX) this.#write();
  }

  /** The values with commas between them. */
  floats(values: Float32Array): void {
    this.#write();
    this.#reserve(values.length * FLOAT32_TEXT_BYTES_MAX);
    this.#length = writeFloat32List(values, this.#buffer, this.#length);
  }

  /** The whole answer, which the caller owns; a short one without lists is text, which leaves with its head as one string. */
  take(): JsonBody {
    if (this.#length === 0) return this.#gathered;
    this.#write();
    return this.#buffer.subarray(0, this.#length);
  }

  #write(): void {
    this.#reserve(this.#gathered.length * UNIT_BYTES_MAX);
    this.#length += this.#buffer.utf8Write(this.#gathered, this.#length);
    this.#gathered = "";
  }

  #reserve(bytes: number): void {
    const length = this.#length + bytes;
    if (length <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * length);
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
