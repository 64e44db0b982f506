/**
 * Reads the members of an object of a body, each with its type. A null member is
 * absent; an absent member is undefined, or false for a flag.
 *
 * Everything here throws a RequestFailure that names the field.
 */
import { isUtf8 } from "node:buffer";
import { parseJsonString, parseJsonText } from "../../kernel/json/parse.ts";
import { parseSpelled } from "../../kernel/json/spelling.ts";
import { METADATA_DEPTH_MAX, type SparseVector, type VectorLimits } from "../../vector/mod.ts";
import { type ScannedObject, type ScannedText, type ScannedValue, scanBody } from "./body-scanner.ts";
import {
  bodyNotUtf8,
  fieldMissing,
  listAtFault,
  loneSurrogate,
  sparseLengthsDiffer,
  tooManyBytes,
  tooManyElements,
  wrongType,
} from "./failures.ts";

/** Metadata whose text is longer than its limit by this factor is refused without parsing. */
const METADATA_SPELLING_MAX = 8;

/** A JSON value without members. */
type Scalar = string | number | boolean | null;

/** The body of an object, with the limits. */
interface Source {
  readonly body: Buffer;
  readonly limits: VectorLimits;
}

export class BodyObject {
  readonly #members: ReadonlyMap<string, ScannedValue>;
  readonly #where: string;
  readonly #source: Source;

  /** `where` precedes the names of members in error texts: `vectors[3].`, or empty. */
  constructor(object: ScannedObject, where: string, source: Source) {
    this.#members = object.members;
    this.#where = where;
    this.#source = source;
  }

  /** The member's name in error texts. */
  nameOf(member: string): string {
    return `${this.#where}${member}`;
  }

  /** Whether the member is present, and not null or an empty text. */
  isGiven(member: string): boolean {
    return this.#found(member) !== undefined && this.#scalar(member) !== "";
  }

  text(member: string, bytesMax = Number.POSITIVE_INFINITY): string | undefined {
    const value = this.#scalar(member);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw wrongType(this.nameOf(member), "a string");
    return within(wellFormed(value, this.nameOf(member)), this.nameOf(member), bytesMax);
  }

  textOrNumber(member: string): string | number | undefined {
    const value = this.#scalar(member);
    if (value === undefined || typeof value === "string" || typeof value === "number") return value;
    throw wrongType(this.nameOf(member), "a string or a number");
  }

  flag(member: string): boolean {
    const value = this.#scalar(member) ?? false;
    if (typeof value !== "boolean") throw wrongType(this.nameOf(member), "true or false");
    return value;
  }

  /** A whole number from 1 to `countMax`. */
  count(member: string, countMax: number): number | undefined {
    const value = this.#scalar(member);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= countMax) return value;
    throw wrongType(this.nameOf(member), `a whole number from 1 to ${countMax}`);
  }

  word<Word extends string>(member: string, words: readonly Word[]): Word | undefined {
    const value = this.#scalar(member);
    if (value === undefined) return undefined;
    const word = words.find((candidate) => candidate === value);
    if (word === undefined)
      throw wrongType(this.nameOf(member), words.map((candidate) => `"${candidate}"`).join(" or "));
    return word;
  }

  /** The required id. */
  id(): string {
    const found = this.#found("id");
    if (found === undefined) throw fieldMissing(this.nameOf("id"));
    return readId(found, this.nameOf("id"), this.#source);
  }

  /** One id or a list of ids. */
  ids(countMax: number): string[] | undefined {
    const found = this.#found("ids");
    if (found === undefined) return undefined;
    if (found.kind !== "list") return [readId(found, this.nameOf("ids"), this.#source)];
    return readIds(found, { name: this.nameOf("ids"), countMax }, this.#source);
  }

  vector(): Float32Array | undefined {
    return this.#floats("vector");
  }

  sparseVector(): SparseVector | undefined {
    const found = this.#found("sparseVector");
    if (found === undefined) return undefined;
    const name = this.nameOf("sparseVector");
    if (found.kind !== "object") throw wrongType(name, "an object of indices and values");
    const object = new BodyObject(found, `${name}.`, this.#source);
    const indices = object.#wholeNumbers("indices");
    const values = object.#floats("values");
    if (indices === undefined) throw fieldMissing(object.nameOf("indices"));
    if (values === undefined) throw fieldMissing(object.nameOf("values"));
    if (indices.length !== values.length) throw sparseLengthsDiffer(name, indices.length, values.length);
    return { indices, values };
  }

  /** Compact JSON of an object. */
  metadata(): string | undefined {
    const found = this.#found("metadata");
    return found === undefined ? undefined : readMetadata(found, this.nameOf("metadata"), this.#source);
  }

  data(): string | undefined {
    return this.text("data", this.#source.limits.dataBytesMax);
  }

  #floats(member: string): Float32Array | undefined {
    const found = this.#found(member);
    if (found === undefined) return undefined;
    if (found.kind === "floats") return found.values;
    if (found.kind !== "faulty list") throw wrongType(this.nameOf(member), "a list of numbers");
    throw listAtFault(this.nameOf(member), found, "a number within the range of float32");
  }

  #wholeNumbers(member: string): Int32Array | undefined {
    const found = this.#found(member);
    if (found === undefined) return undefined;
    if (found.kind === "whole numbers") return found.values;
    if (found.kind !== "faulty list") throw wrongType(this.nameOf(member), "a list of whole numbers");
    throw listAtFault(this.nameOf(member), found, "a whole number of 32 bits with sign");
  }

  #scalar(member: string): Scalar | undefined {
    const found = this.#found(member);
    if (found === undefined) return undefined;
    // Objects and lists are null here: no caller accepts null.
    return found.kind === "text" ? scalarOf(found, this.#source.body) : null;
  }

  #found(member: string): ScannedValue | undefined {
    const found = this.#members.get(member);
    if (found?.kind === "text" && this.#source.body[found.start] === SMALL_N) return undefined;
    return found;
  }
}

/** Reads a body of one object. */
export function readObject(body: Buffer, limits: VectorLimits): BodyObject {
  const found = scan({ body, limits });
  if (found.kind !== "object") throw wrongType(BODY, "an object");
  return new BodyObject(found, "", { body, limits });
}

export interface BodyObjects {
  readonly objects: readonly BodyObject[];
  /** Whether the body was a list. */
  readonly isList: boolean;
}

/** Reads a body of an object or a list of objects, which are `listName[3]` in error texts. */
export function readObjects(
  body: Buffer,
  limits: VectorLimits,
  { listName, countMax }: { readonly listName: string; readonly countMax: number },
): BodyObjects {
  const source = { body, limits };
  const found = scan(source);
  if (found.kind === "object") return { objects: [new BodyObject(found, "", source)], isList: false };
  if (found.kind !== "list") throw wrongType(BODY, "an object or a list of objects");
  if (!found.isWhole || found.elements.length > countMax) throw tooManyElements(BODY, "elements", countMax);
  const objects = found.elements.map((element, index) => {
    if (element.kind !== "object") throw wrongType(`${listName}[${index}]`, "an object");
    return new BodyObject(element, `${listName}[${index}].`, source);
  });
  return { objects, isList: true };
}

/** Reads a body of an object, a list of ids or one id. A text that is not JSON is an id too: clients send it bare. */
export function readObjectOrIds(body: Buffer, limits: VectorLimits, countMax: number): BodyObject | string[] {
  const source = { body, limits };
  const bareId = readBareId(source);
  if (bareId !== undefined) return [bareId];
  const found = scan(source);
  if (found.kind === "object") return new BodyObject(found, "", source);
  if (found.kind === "list") return readIds(found, { name: "ids", countMax }, source);
  return [readId(found, "ids", source)];
}

/** The body itself in error texts. */
const BODY = "The body";

const QUOTE = 0x22;
const SMALL_F = 0x66;
const SMALL_N = 0x6e;
const SMALL_T = 0x74;
const ARRAY_START = 0x5b;
const OBJECT_START = 0x7b;

function scan({ body, limits }: Source): ScannedValue {
  return scanBody(body, {
    elementsMax: Math.max(limits.readsPerRequestMax, limits.writesPerRequestMax),
    sparseValuesMax: limits.sparseValuesMax,
  });
}

/** Empty bodies, the starts of objects, lists and texts, and whole bodies of null or a number, with white space. */
const JSON_BODY = /^[ \t\n\r]*(?:$|["{[]|(?:null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)[ \t\n\r]*$)/;

/** The whole body, if it is a bare id. */
function readBareId({ body, limits }: Source): string | undefined {
  // Longer bodies are too long for an id.
  const start = body.latin1Slice(0, Math.min(body.length, limits.idBytesMax + 1));
  if (JSON_BODY.test(start)) return undefined;
  if (!isUtf8(body)) throw bodyNotUtf8;
  if (body.length > limits.idBytesMax) throw tooManyBytes("ids", body.length, limits.idBytesMax);
  return body.utf8Slice();
}

function readIds(
  { elements, isWhole }: Extract<ScannedValue, { kind: "list" }>,
  { name, countMax }: { readonly name: string; readonly countMax: number },
  source: Source,
): string[] {
  if (!isWhole || elements.length > countMax) throw tooManyElements(name, "ids", countMax);
  return elements.map((element, index) => readId(element, `${name}[${index}]`, source));
}

/** The spelling of a number is its id: two numbers that are equal as float64 are two ids. */
function readId(found: ScannedValue, name: string, { body, limits }: Source): string {
  if (found.kind !== "text") throw wrongType(name, "a string or a number");
  const value = scalarOf(found, body);
  if (typeof value === "string") return within(wellFormed(value, name), name, limits.idBytesMax);
  if (typeof value !== "number" || !Number.isFinite(value)) throw wrongType(name, "a string or a number");
  return within(body.latin1Slice(found.start, found.end), name, limits.idBytesMax);
}

function readMetadata(found: ScannedValue, name: string, { body, limits }: Source): string {
  if (found.kind !== "text" || body[found.start] !== OBJECT_START) throw wrongType(name, "an object");
  const { start, end, facts } = found;
  const bytesMax = limits.metadataBytesMax;
  if (facts.depth > METADATA_DEPTH_MAX) throw wrongType(name, `nested ${METADATA_DEPTH_MAX} levels deep at most`);
  const spelledBytes = end - start - facts.spaceBytes;
  if (spelledBytes > METADATA_SPELLING_MAX * bytesMax) throw tooManyBytes(name, spelledBytes, bytesMax);
  const text = body.utf8Slice(start, end);
  const value: unknown = facts.hasOddNumber ? parseSpelled(text) : parseJsonText(text);
  // Clients would read it as infinity, and no filter would match it.
  if (facts.hasLargeNumber && hasInfinity(parseJsonText(text)))
    throw wrongType(name, "made of numbers within the range of float64");
  if (facts.hasEscape && SURROGATE_ESCAPE.test(text) && hasLoneSurrogate(value)) throw loneSurrogate(name);
  return within(JSON.stringify(value), name, bytesMax);
}

/** Nearly no text contains one. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** Recursive; called only for values of few levels. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasInfinity);
}

/** Recursive; called only for values of few levels. */
function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, member]) => !key.isWellFormed() || hasLoneSurrogate(member));
}

/** The value; null for null, an object or a list. */
function scalarOf({ start, end, facts }: ScannedText, body: Buffer): Scalar {
  switch (body[start]) {
    case QUOTE:
      return facts.hasEscape ? parseJsonString(body.utf8Slice(start, end)) : body.utf8Slice(start + 1, end - 1);
    case SMALL_T:
      return true;
    case SMALL_F:
      return false;
    case SMALL_N:
    case ARRAY_START:
    case OBJECT_START:
      return null;
    default:
      return Number(body.latin1Slice(start, end));
  }
}

/** Text is stored as UTF-8, where all lone surrogates would become one character, and two ids could become one. */
function wellFormed(text: string, name: string): string {
  if (!text.isWellFormed()) throw loneSurrogate(name);
  return text;
}

function within(text: string, name: string, bytesMax: number): string {
  // No character has more than three bytes for each of its code units.
  if (text.length * 3 <= bytesMax) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes > bytesMax) throw tooManyBytes(name, bytes, bytesMax);
  return text;
}
