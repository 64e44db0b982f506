/**
 * A chunked body, read from its bytes in whatever packets they come (RFC 9112
 * section 7.1).
 *
 * (1) A chunk begins with its size in 1 to 8 hexadecimal digits and ends with
 *     CR LF. Every line ends with CR LF; a bare CR or LF is malformed.
 * (2) Extensions (`;name`, `;name=token`, `;name="text"`) are dropped. Those of a
 *     whole body have at most `EXTENSION_BYTES_MAX` bytes.
 * (3) Trailers are dropped, and have at most `trailerBytesMax` bytes. Each is a field
 *     with a name of token characters and a value without controls except tabs.
 * (4) A trailer with one of the names `REFUSED_TRAILERS` is malformed (RFC 9110 section
 *     6.5.1). A proxy that takes trailers for fields of the head would see another body
 *     or another host than we do.
 */
import type { BodyReceiver } from "../transport.ts";
import { tokenBytes } from "./head.ts";

export const EXTENSION_BYTES_MAX = 16 * 1024;
const SIZE_DIGITS_MAX = 8;

/** In lower case: what says where a message ends, and for whom it is. */
const REFUSED_TRAILERS: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host"]);
const REFUSED_NAME_LENGTH_MAX = Math.max(...Array.from(REFUSED_TRAILERS, (name) => name.length));

const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;
const QUOTE = 34;
const COLON = 58;
const SEMICOLON = 59;
const EQUALS = 61;
const BACKSLASH = 92;
const DELETE = 127;

type State =
  | "size"
  | "start of name"
  | "name"
  | "start of value"
  | "value"
  | "quoted value"
  | "escaped in value"
  | "end of value"
  | "end of size"
  | "data"
  | "end of data"
  | "end of data, LF"
  | "start of trailer"
  | "name of trailer"
  | "trailer"
  | "end of trailer"
  | "end";

export class ChunkedBody {
  readonly #trailerBytesMax: number;
  #state: State = "size";
  #digits = 0;
  /** The size of the chunk as far as it is read, then its bytes that have not come. */
  #left = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  /** The line that ends is a trailer, not the empty line after them. */
  #isTrailerLine = false;
  /** The beginning of the name of a trailer, with one character more than a refused name may have. */
  #trailerName = "";

  constructor(trailerBytesMax: number) {
    this.#trailerBytesMax = trailerBytesMax;
  }

  /**
   * Gives the data from `at` on to the receiver. Returns the position after the body, `"incomplete"` if all bytes belong
   * to it, or that they are malformed. The receiver is asked for again for each piece, since it may change.
   */
  read(bytes: Buffer, from: number, receiver: () => BodyReceiver | undefined): number | "incomplete" | "malformed" {
    let at = from;
    while (at < bytes.length) {
      if (this.#state === "data") {
        const to = Math.min(bytes.length, at + this.#left);
        this.#left -= to - at;
        if (this.#left === 0) this.#state = "end of data";
        receiver()?.data(bytes.subarray(at, to));
        at = to;
        continue;
      }
      const next = this.#after(bytes[at] as number);
      if (next === undefined) return "malformed";
      this.#state = next;
      at += 1;
      if (next === "end") return at;
    }
    return "incomplete";
  }

  /** The state after a byte of a line; undefined if the byte is not allowed there. */
  #after(byte: number): State | undefined {
    switch (this.#state) {
      case "size":
        return this.#afterSizeByte(byte);
      case "start of name":
      case "name":
      case "start of value":
      case "value":
      case "quoted value":
      case "escaped in value":
      case "end of value":
        this.#extensionBytes += 1;
        return this.#extensionBytes <= EXTENSION_BYTES_MAX ? afterExtensionByte(this.#state, byte) : undefined;
      case "end of size":
        if (byte !== LF) return undefined;
        return this.#left > 0 ? "data" : "start of trailer";
      case "end of data":
        return byte === CR ? "end of data, LF" : undefined;
      case "end of data, LF":
        this.#digits = 0;
        return byte === LF ? "size" : undefined;
      case "start of trailer":
        if (byte === CR) return "end of trailer";
        this.#isTrailerLine = true;
        this.#trailerName = "";
        return this.#afterTrailerNameByte(byte);
      case "name of trailer":
        if (byte !== COLON) return this.#afterTrailerNameByte(byte);
        // keeps (4)
        return this.#afterTrailerByte(REFUSED_TRAILERS.has(this.#trailerName.toLowerCase()) ? undefined : "trailer");
      case "trailer":
        return byte === CR ? "end of trailer" : this.#afterTrailerByte(isText(byte) ? "trailer" : undefined);
      default:
        if (byte !== LF) return undefined;
        if (!this.#isTrailerLine) return "end";
        this.#isTrailerLine = false;
        return "start of trailer";
    }
  }

  #afterSizeByte(byte: number): State | undefined {
    const digit = digitOf(byte);
    if (digit !== undefined) {
      if (this.#digits === 0) this.#left = 0;
      this.#digits += 1;
      this.#left = this.#left * 16 + digit;
      return this.#digits <= SIZE_DIGITS_MAX ? "size" : undefined;
    }
    if (this.#digits === 0) return undefined;
    if (byte === CR) return "end of size";
    return byte === SEMICOLON ? "start of name" : undefined;
  }

  #afterTrailerNameByte(byte: number): State | undefined {
    if (this.#trailerName.length <= REFUSED_NAME_LENGTH_MAX) this.#trailerName += String.fromCharCode(byte);
    return this.#afterTrailerByte(tokenBytes[byte] === 1 ? "name of trailer" : undefined);
  }

  #afterTrailerByte(next: State | undefined): State | undefined {
    this.#trailerBytes += 1;
    return this.#trailerBytes <= this.#trailerBytesMax ? next : undefined;
  }
}

/** RFC 9112 section 7.1.1, without white space. */
function afterExtensionByte(state: State, byte: number): State | undefined {
  if (state === "escaped in value") return isText(byte) ? "quoted value" : undefined;
  if (state === "quoted value") {
    if (byte === QUOTE) return "end of value";
    if (byte === BACKSLASH) return "escaped in value";
    return isText(byte) ? "quoted value" : undefined;
  }
  const isStart = state === "start of name" || state === "start of value";
  const isInName = state === "start of name" || state === "name";
  if (tokenBytes[byte] === 1) return state === "end of value" ? undefined : isInName ? "name" : "value";
  if (byte === QUOTE && state === "start of value") return "quoted value";
  if (isStart) return undefined;
  if (byte === EQUALS && isInName) return "start of value";
  if (byte === SEMICOLON) return "start of name";
  return byte === CR ? "end of size" : undefined;
}

function isText(byte: number): boolean {
  return (byte >= SPACE && byte !== DELETE) || byte === TAB;
}

function digitOf(byte: number): number | undefined {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : undefined;
}
