/**
 * Scans the JSON of a body once. Lists of numbers become typed arrays directly.
 * For other members, the scan checks the text and stores its position.
 *
 * (1) It accepts the same texts as `JSON.parse`, up to 128 levels, in any white
 *     space and order; the last of several members with one name counts.
 * (2) It stores nothing of members that no endpoint knows, nor of elements beyond
 *     `elementsMax`: memory is bounded by the size of the body, not its structure.
 * (3) An invalid member is not an error here: a later member with its name may
 *     replace it, and the text after it may be invalid JSON.
 */
import { isUtf8 } from "node:buffer";
import { JsonDocument, LIST_VALUES_MAX, type ListFault, type ValueFacts } from "../../kernel/float32/document.ts";
import { parseJsonString } from "../../kernel/json/parse.ts";
import { bodyNotUtf8, emptyBody, malformedJson, nestedTooDeep } from "./failures.ts";

/** Levels of objects and lists in a body (threats A-14). */
export const DEPTH_MAX = 128;

/** A value of the scan. */
export type ScannedValue =
  | ScannedText
  | { readonly kind: "floats"; readonly values: Float32Array }
  | { readonly kind: "whole numbers"; readonly values: Int32Array }
  /** JSON, but not a list of the right type. */
  | { readonly kind: "faulty list"; readonly fault: ListFault; readonly index: number }
  /** `isWhole` is false for more than `elementsMax` elements. */
  | { readonly kind: "list"; readonly elements: readonly ScannedValue[]; readonly isWhole: boolean }
  | ScannedObject;

/** A checked value at these bytes of the body. */
export interface ScannedText {
  readonly kind: "text";
  readonly start: number;
  readonly end: number;
  readonly facts: ValueFacts;
}

export interface ScannedObject {
  readonly kind: "object";
  readonly members: ReadonlyMap<string, ScannedValue>;
}

/** How a list, or an object for `sparse`, is stored. */
type Reading = "text" | "floats" | "sparse floats" | "sparse indices" | "elements" | "sparse";

/** The members of all endpoints. */
const bodyMembers: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ["id", "text"],
  ["vector", "floats"],
  ["sparseVector", "sparse"],
  ["metadata", "text"],
  ["data", "text"],
  ["metadataUpdateMode", "text"],
  ["ids", "elements"],
  ["prefix", "text"],
  ["filter", "text"],
  ["cursor", "text"],
  ["limit", "text"],
  ["includeMetadata", "text"],
  ["includeVectors", "text"],
  ["includeData", "text"],
  ["topK", "text"],
  ["weightingStrategy", "text"],
  ["fusionAlgorithm", "text"],
  ["exact", "text"],
  ["effort", "text"],
  ["queryMode", "text"],
  ["maxIdle", "text"],
  ["uuid", "text"],
  ["additionalK", "text"],
  ["namespace", "text"],
  ["newNamespace", "text"],
  ["deleteExisting", "text"],
]);

const sparseMembers: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ["indices", "sparse indices"],
  ["values", "sparse floats"],
]);

/** A name with escapes has at most six bytes for each character. */
const NAME_BYTES_MAX = 6 * Math.max(...[...bodyMembers.keys()].map((name) => name.length));

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const ARRAY_START = 0x5b;
const BACKSLASH = 0x5c;
const ARRAY_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;
const FIRST_PRINTABLE = 0x20;

/** The whole body: an object, a list, or a scalar as text. Throws a RequestFailure. */
export function scanBody(body: Buffer, bounds: ScanBounds): ScannedValue {
  if (body.length === 0) throw emptyBody;
  if (!isUtf8(body)) throw bodyNotUtf8;
  return new BodyScanner(body, bounds).scan();
}

export interface ScanBounds {
  /** Stored elements of a list. */
  readonly elementsMax: number;
  /** Values of a sparse vector. */
  readonly sparseValuesMax: number;
}

class BodyScanner {
  readonly #body: Buffer;
  readonly #document: JsonDocument;
  readonly #bounds: ScanBounds;
  #at = 0;

  constructor(body: Buffer, bounds: ScanBounds) {
    this.#body = body;
    this.#document = new JsonDocument(body);
    this.#bounds = bounds;
  }

  scan(): ScannedValue {
    const byte = this.#next();
    const found =
      byte === OBJECT_START ? this.#object(bodyMembers, 1) : byte === ARRAY_START ? this.#list(1) : this.#text(1);
    if (this.#next() !== undefined) throw malformedJson(this.#at);
    return found;
  }

  /** The object at `#at`, which opens level `depth`. */
  #object(known: ReadonlyMap<string, Reading>, depth: number): ScannedObject {
    const members = new Map<string, ScannedValue>();
    this.#at += 1;
    if (this.#next() === OBJECT_END) {
      this.#at += 1;
      return { kind: "object", members };
    }
    for (;;) {
      const name = this.#name();
      if (this.#next() !== COLON) throw malformedJson(this.#at);
      this.#at += 1;
      const reading = known.get(name);
      if (reading === undefined)
        this.#check(depth + 1); // keeps (2)
      else members.set(name, this.#member(reading, depth + 1));
      if (!this.#hasNext(OBJECT_END)) return { kind: "object", members };
    }
  }

  /** The list at `#at`, which opens level `depth`. */
  #list(depth: number): ScannedValue {
    const start = this.#at;
    const elements: ScannedValue[] = [];
    this.#at += 1;
    if (this.#next() === ARRAY_END) {
      this.#at += 1;
      return { kind: "list", elements, isWhole: true };
    }
    do {
      if (elements.length === this.#bounds.elementsMax) {
        // keeps (2): the whole list is checked at once, from its start.
        this.#at = start;
        this.#check(depth);
        return { kind: "list", elements, isWhole: false };
      }
      // Objects have a meaning only in the outermost list.
      const isObject = this.#next() === OBJECT_START && depth === 1;
      elements.push(isObject ? this.#object(bodyMembers, depth + 1) : this.#text(depth + 1));
    } while (this.#hasNext(ARRAY_END));
    return { kind: "list", elements, isWhole: true };
  }

  #member(reading: Reading, depth: number): ScannedValue {
    const byte = this.#next();
    if (byte === OBJECT_START && reading === "sparse") return this.#object(sparseMembers, depth);
    if (byte !== ARRAY_START) return this.#text(depth);
    switch (reading) {
      case "floats":
        return this.#floats(LIST_VALUES_MAX, depth);
      case "sparse floats":
        return this.#floats(this.#bounds.sparseValuesMax, depth);
      case "sparse indices":
        return this.#wholeNumbers(this.#bounds.sparseValuesMax, depth);
      case "elements":
        return this.#list(depth);
      default:
        return this.#text(depth);
    }
  }

  #floats(countMax: number, depth: number): ScannedValue {
    const values = this.#document.readFloats(this.#at, countMax);
    if (typeof values === "string") return this.#faultyList(values, depth);
    this.#at = this.#document.end;
    return { kind: "floats", values };
  }

  #wholeNumbers(countMax: number, depth: number): ScannedValue {
    const values = this.#document.readWholeNumbers(this.#at, countMax);
    if (typeof values === "string") return this.#faultyList(values, depth);
    this.#at = this.#document.end;
    return { kind: "whole numbers", values };
  }

  // keeps (3)
  #faultyList(fault: ListFault, depth: number): ScannedValue {
    const index = this.#document.faultIndex;
    this.#check(depth);
    return { kind: "faulty list", fault, index };
  }

  #text(depth: number): ScannedText {
    this.#next();
    const start = this.#at;
    this.#check(depth);
    return { kind: "text", start, end: this.#at, facts: this.#document.facts };
  }

  /** Checks the value at `#at`, whose outermost level is `depth`, and moves after it. keeps (1) */
  #check(depth: number): void {
    this.#next();
    const outcome = this.#document.checkValue(this.#at, DEPTH_MAX - depth + 1);
    this.#at = this.#document.end;
    if (outcome === "malformed") throw malformedJson(this.#at);
    if (outcome === "too deep") throw nestedTooDeep(DEPTH_MAX);
  }

  /** The name of a member, or another text that no member has. */
  #name(): string {
    if (this.#next() !== QUOTE) throw malformedJson(this.#at);
    const body = this.#body;
    const start = this.#at + 1;
    // Names are short, and mostly letters.
    for (let at = start; at < start + NAME_BYTES_MAX; at += 1) {
      const byte = body[at];
      if (byte === QUOTE) {
        this.#at = at + 1;
        return body.latin1Slice(start, at);
      }
      if (byte === undefined || byte === BACKSLASH || byte < FIRST_PRINTABLE) break;
    }
    this.#check(DEPTH_MAX);
    if (this.#at - start > NAME_BYTES_MAX || !this.#document.facts.hasEscape) return "";
    return parseJsonString(body.utf8Slice(start - 1, this.#at));
  }

  /** After an element: true if another follows, false at the closing `end`. */
  #hasNext(end: number): boolean {
    const byte = this.#next();
    if (byte !== COMMA && byte !== end) throw malformedJson(this.#at);
    this.#at += 1;
    return byte === COMMA;
  }

  /** The next byte that is not white space, or undefined at the end. */
  #next(): number | undefined {
    for (;;) {
      const byte = this.#body[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at += 1;
    }
  }
}
