/**
 * One JSON document in the memory of `module.ts`: its lists of
 * numbers become typed arrays without ever being JavaScript arrays, and any
 * value can be checked without being built.
 *
 * (1) A thread has one open document: opening the next ends this one.
 * (2) Positions are byte offsets in the document. Every method gets the start of a
 *     value, and sets `end` to the position where it stopped.
 * (3) The document is UTF-8; the caller has checked this.
 */
import { assert } from "../assert.ts";
import { type FloatTextModule, floatTextModule, floatTextModuleWith } from "./module.ts";

/** Most values of one list. */
export const LIST_VALUES_MAX = floatTextModule().valuesMax;

/** The most levels of nesting of a document. */
export const CHECKED_DEPTH_MAX = 1_023;

/** The fault of a list. `checkValue` checks whether it is JSON. */
export type ListFault =
  /** It begins with another byte than `[`. */
  | "no list"
  /** An element is not a number. */
  | "no number"
  /** A number is beyond float32, or not a whole number of 32 bits. */
  | "out of range"
  | "too many values";

const listFaults: readonly ListFault[] = ["no list", "no number", "out of range", "too many values"];

/** The properties of a value that a check collects. */
export interface ValueFacts {
  /** Levels of objects and lists; 0 for a scalar. */
  readonly depth: number;
  /** White space outside strings. */
  readonly spaceBytes: number;
  /** True if a string has a backslash, so that its bytes are not its text. */
  readonly hasEscape: boolean;
  /** True if a number may be beyond the range of float64. */
  readonly hasLargeNumber: boolean;
  /** True if JavaScript may print a number with another spelling: `1.0`, `-0`, `1e2`, or digits beyond float64. */
  readonly hasOddNumber: boolean;
}

/** Words of the results (assembly/float-text-memory.ts). */
const STOPPED_AT = 0;
const FAULT_INDEX = 1;
const DEPTH = 2;
const SPACE_BYTES = 3;
const FLAGS = 4;

const HAS_ESCAPE = 1;
const HAS_LARGE_NUMBER = 2;
const HAS_ODD_NUMBER = 4;

/** The most lists in one buffer: while one of them is referenced, all stay in memory. */
const LISTS_PER_BUFFER_MAX = 64;

export class JsonDocument {
  readonly #module: FloatTextModule;
  readonly #number: number;
  readonly #base: number;
  #listCount = 0;
  /** For further lists, from `#used` on. */
  #buffer = new Float32Array(0);
  #used = 0;
  /** Where the last call stopped: after the value, or at the invalid byte or element. */
  end = 0;
  /** Index of the invalid element of the last list, from 0. */
  faultIndex = 0;

  /** Copies the document. Throws a RangeError if the machine has not enough memory. */
  constructor(document: Uint8Array) {
    this.#module = floatTextModuleWith(document);
    this.#number = this.#module.documentCount;
    this.#base = this.#module.documentAt;
  }

  /** The list of numbers at `start`, each as `Math.fround(Number(text))`: finite, at most `countMax`. */
  readFloats(start: number, countMax: number): Float32Array | ListFault {
    const { exports, floats, valuesIndex } = this.#opened();
    const count = exports.readFloats(this.#base + start, Math.min(countMax, LIST_VALUES_MAX));
    return this.#fault(count) ?? this.#kept(floats.subarray(valuesIndex, valuesIndex + count));
  }

  /** The list of numbers at `start`, each a whole number of 32 bits with sign; `1.0` and `1e2` are whole. */
  readWholeNumbers(start: number, countMax: number): Int32Array | ListFault {
    const { exports, integers, valuesIndex } = this.#opened();
    const count = exports.readWholeNumbers(this.#base + start, Math.min(countMax, LIST_VALUES_MAX));
    return this.#fault(count) ?? integers.slice(valuesIndex, valuesIndex + count);
  }

  /** Checks whether the value at `start` is JSON. "too deep": it is, up to the level after `depthMax`. */
  checkValue(start: number, depthMax: number): "json" | "malformed" | "too deep" {
    assert(depthMax <= CHECKED_DEPTH_MAX, "the stack of a check has room for every level");
    const { exports } = this.#opened();
    const end = exports.checkValue(this.#base + start, depthMax);
    if (end !== 0) {
      this.end = end - this.#base;
      return "json";
    }
    this.end = this.#result(STOPPED_AT) - this.#base;
    return this.#result(DEPTH) > depthMax ? "too deep" : "malformed";
  }

  /** Properties of the last checked value. */
  get facts(): ValueFacts {
    const flags = this.#result(FLAGS);
    return {
      depth: this.#result(DEPTH),
      spaceBytes: this.#result(SPACE_BYTES),
      hasEscape: (flags & HAS_ESCAPE) !== 0,
      hasLargeNumber: (flags & HAS_LARGE_NUMBER) !== 0,
      hasOddNumber: (flags & HAS_ODD_NUMBER) !== 0,
    };
  }

  /**
   * A copy of a list of floats. The lists of a document after its first share buffers: a buffer for each of a thousand
   * would be most of the garbage of a request.
   */
  #kept(list: Float32Array): Float32Array {
    const { length } = list;
    if (this.#listCount === 0) {
      this.#listCount = 1;
      return list.slice();
    }
    if (this.#buffer.length - this.#used < length) {
      this.#buffer = new Float32Array(length * Math.min(this.#listCount, LISTS_PER_BUFFER_MAX));
      this.#used = 0;
    }
    this.#listCount += 1;
    const kept = this.#buffer.subarray(this.#used, this.#used + length);
    kept.set(list);
    this.#used += length;
    return kept;
  }

  #fault(count: number): ListFault | undefined {
    this.end = this.#result(STOPPED_AT) - this.#base;
    if (count >= 0) return undefined;
    this.faultIndex = this.#result(FAULT_INDEX);
    return listFaults[-1 - count];
  }

  #result(word: number): number {
    const { integers, resultsIndex } = this.#module;
    return integers[resultsIndex + word] as number;
  }

  // keeps (1)
  #opened(): FloatTextModule {
    const module = this.#module;
    const isOpen = module === floatTextModule() && module.documentCount === this.#number;
    assert(isOpen, "a document is read before the next is opened");
    return module;
  }
}
