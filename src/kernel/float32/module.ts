/**
 * The WebAssembly of `assembly/float-text.ts` with its memory: float32 numbers
 * and their decimal text. This thread has one; it holds one JSON document at a
 * time, and lists of numbers while they are printed or read.
 *
 * Memory of WebAssembly only grows, so the memory of a huge document is released
 * by creating a new instance after a number of small documents in a row.
 */

import { compileModule, instantiate, PAGE_BYTES } from "../web-assembly.ts";
import { floatTextWasm } from "./float-text.generated.ts";

/** The exports, as `assembly/float-text.ts` describes them. */
interface FloatTextExports {
  readonly memory: WasmMemory;
  readonly DOCUMENT: WasmGlobal;
  readonly DOCUMENT_SLACK: WasmGlobal;
  readonly SCALES: WasmGlobal;
  readonly FINITE_SCALES: WasmGlobal;
  readonly POWERS: WasmGlobal;
  readonly WHOLE_POWERS: WasmGlobal;
  readonly VALUES: WasmGlobal;
  readonly VALUES_MAX: WasmGlobal;
  readonly TEXT: WasmGlobal;
  readonly PRINT_MAX: WasmGlobal;
  readonly RESULTS: WasmGlobal;
  printFloats(count: number): number;
  readFloats(start: number, countMax: number): number;
  readWholeNumbers(start: number, countMax: number): number;
  checkValue(start: number, depthMax: number): number;
}

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface WasmGlobal {
  readonly value: number;
}

/** A document up to this size never makes the memory grow. */
const USUAL_DOCUMENT_BYTES = 2 * 1_024 * 1_024;
/** After this many documents of usual size in a row, the memory of a larger one is released. */
const USUAL_DOCUMENTS_MAX = 256;

/** The powers of ten that printing a float32 needs (assembly/float-text-print.ts). */
const SCALE_MIN = -31;
const SCALE_MAX = 45;
const EXPONENT_COUNT = 255;
const EXPONENT_BIAS = 150;
const POWER_MAX = 64;
const WHOLE_POWER_MAX = 16;

const compiled = compileModule(floatTextWasm);
const scales = scaleTable();
const finiteScales = finiteScaleTable();

export class FloatTextModule {
  readonly exports: FloatTextExports;
  /** The whole memory. Replaced after a document that made it grow. */
  bytes: Buffer;
  floats: Float32Array;
  integers: Int32Array;
  /** The place of lists of numbers, as an index into `floats` and `integers`, and their maximum count. */
  readonly valuesIndex: number;
  readonly valuesMax: number;
  /** The place of printed text, and how many numbers are printed at once. */
  readonly textAt: number;
  readonly printMax: number;
  /** The place of further results of a call, as an index into `integers`. */
  readonly resultsIndex: number;
  /** The place of the document. */
  readonly documentAt: number;
  /** Count of documents so far, which identifies the current one. */
  documentCount = 0;
  readonly #slack: number;

  constructor() {
    this.exports = instantiate<FloatTextExports>(compiled, {
      host: { numberAt: (start = 0, end = 0) => Number(this.bytes.latin1Slice(start, end)) },
    });
    this.documentAt = this.exports.DOCUMENT.value;
    this.#slack = this.exports.DOCUMENT_SLACK.value;
    this.valuesIndex = this.exports.VALUES.value / 4;
    this.valuesMax = this.exports.VALUES_MAX.value;
    this.textAt = this.exports.TEXT.value;
    this.printMax = this.exports.PRINT_MAX.value;
    this.resultsIndex = this.exports.RESULTS.value / 4;
    this.bytes = Buffer.alloc(0);
    this.floats = new Float32Array(0);
    this.integers = new Int32Array(0);
    this.#reserve(USUAL_DOCUMENT_BYTES);
    this.#writeTables();
  }

  /** Copies a document into the memory. Throws a RangeError if the machine has not enough memory. */
  setDocument(document: Uint8Array): void {
    this.#reserve(document.length);
    this.documentCount += 1;
    this.bytes.set(document, this.documentAt);
    const end = this.documentAt + document.length;
    this.bytes.fill(0, end, end + this.#slack);
  }

  get isGrown(): boolean {
    return this.bytes.length > this.#bytesFor(USUAL_DOCUMENT_BYTES);
  }

  #bytesFor(documentBytes: number): number {
    return Math.ceil((this.documentAt + documentBytes + this.#slack) / PAGE_BYTES) * PAGE_BYTES;
  }

  #reserve(documentBytes: number): void {
    const { memory } = this.exports;
    const wanted = this.#bytesFor(documentBytes);
    if (wanted > memory.buffer.byteLength) memory.grow((wanted - memory.buffer.byteLength) / PAGE_BYTES);
    if (memory.buffer.byteLength === this.bytes.length) return;
    this.bytes = Buffer.from(memory.buffer);
    this.floats = new Float32Array(memory.buffer);
    this.integers = new Int32Array(memory.buffer);
  }

  #writeTables(): void {
    const { SCALES, FINITE_SCALES, POWERS, WHOLE_POWERS } = this.exports;
    const { buffer } = this.exports.memory;
    new BigUint64Array(buffer, SCALES.value, scales.length).set(scales);
    new Float64Array(buffer, FINITE_SCALES.value, finiteScales.length).set(finiteScales);
    const powers = new Float64Array(buffer, POWERS.value, POWER_MAX + 1);
    for (let power = 0; power <= POWER_MAX; power += 1) powers[power] = Number(`1e${power}`);
    const wholePowers = new BigUint64Array(buffer, WHOLE_POWERS.value, WHOLE_POWER_MAX + 1);
    for (let power = 0; power <= WHOLE_POWER_MAX; power += 1) wholePowers[power] = 10n ** BigInt(power);
  }
}

let current = new FloatTextModule();
let usualDocuments = 0;

/** This thread's instance, valid until the next document. */
export function floatTextModule(): FloatTextModule {
  return current;
}

/** This thread's instance with that document in it, which replaces the previous one. */
export function floatTextModuleWith(document: Uint8Array): FloatTextModule {
  if (document.length > USUAL_DOCUMENT_BYTES) usualDocuments = 0;
  else if (current.isGrown) {
    usualDocuments += 1;
    if (usualDocuments > USUAL_DOCUMENTS_MAX) {
      current = new FloatTextModule();
      usualDocuments = 0;
    }
  }
  current.setDocument(document);
  return current;
}

/** For each power of ten its highest 64 bits, as a whole number rounded up beyond itself: floor + 1. */
function scaleTable(): BigUint64Array {
  return BigUint64Array.from({ length: SCALE_MAX - SCALE_MIN + 1 }, (_, index) => {
    const power = SCALE_MIN + index;
    const ten = 10n ** BigInt(Math.abs(power));
    const bits = BigInt(ten.toString(2).length);
    // The reciprocal of 10^n lies between 2^-bits and 2^(1-bits), and is a power of two for n = 0 only.
    if (power < 0) return (1n << (bits + 63n)) / ten + 1n;
    return (bits > 64n ? ten >> (bits - 64n) : ten << (64n - bits)) + 1n;
  });
}

/** For each exponent of a finite float32, with a unit of 2^q: 10^-k, half a unit in 10^k, and k as a whole number. */
function finiteScaleTable(): Float64Array {
  const rows = new Float64Array(EXPONENT_COUNT * 3);
  const integers = new Int32Array(rows.buffer);
  for (let exponent = 0; exponent < EXPONENT_COUNT; exponent += 1) {
    const unitExponent = Math.max(1, exponent) - EXPONENT_BIAS;
    const power = Math.floor(unitExponent * Math.log10(2));
    const scale = Number(`1e${-power}`);
    rows[exponent * 3] = scale;
    rows[exponent * 3 + 1] = 2 ** (unitExponent - 1) * scale;
    integers[exponent * 6 + 4] = power;
  }
  return rows;
}
