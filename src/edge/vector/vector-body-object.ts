/**
 * The members of one object of a body, each read as what it must be. A member
 * that is null is absent; an absent one is undefined, or false for a flag.
 */
import type { VectorLimits } from "../../vector/limits.ts";
import { METADATA_DEPTH_MAX } from "../../vector/limits.ts";
import type { SparseVector } from "../../vector/record.ts";
import {
  emptyBody,
  fieldMissing,
  malformedJson,
  tooManyBytes,
  tooManyElements,
  unprocessableBody,
  wrongType,
} from "./vector-failures.ts";

/** Values that a list may have, whatever the index. */
const VALUES_MAX = 65_536;
const INT32_MAX = 2 ** 31 - 1;
const INT32_MIN = -(2 ** 31);

export class BodyObject {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #where: string;
  readonly #limits: VectorLimits;

  /** `where` is what stands in front of a member's name in a text: `vectors[3].`, or nothing. */
  constructor(members: Readonly<Record<string, unknown>>, where: string, limits: VectorLimits) {
    this.#members = members;
    this.#where = where;
    this.#limits = limits;
  }

  /** The member's name as texts call it. */
  nameOf(member: string): string {
    return `${this.#where}${member}`;
  }

  text(name: string, bytesMax = Number.POSITIVE_INFINITY): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw wrongType(this.nameOf(name), "a string");
    return this.#within(name, value.toWellFormed(), bytesMax);
  }

  textOrNumber(name: string): string | number | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === "string" || typeof value === "number") return value;
    throw wrongType(this.nameOf(name), "a string or a number");
  }

  flag(name: string): boolean {
    const value = this.#value(name) ?? false;
    if (typeof value !== "boolean") throw wrongType(this.nameOf(name), "true or false");
    return value;
  }

  /** A whole number from 1 to `countMax`. */
  count(name: string, countMax: number): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= countMax) return value;
    throw wrongType(this.nameOf(name), `a whole number from 1 to ${countMax}`);
  }

  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw wrongType(this.nameOf(name), words.map((candidate) => `"${candidate}"`).join(" or "));
    return word;
  }

  /** The id, which every record has. */
  id(): string {
    const value = this.#value("id");
    if (value === undefined) throw fieldMissing(this.nameOf("id"));
    return readId(value, this.nameOf("id"), this.#limits.idBytesMax);
  }

  /** One id or a list of them. */
  ids(countMax: number): string[] | undefined {
    const value = this.#value("ids");
    if (value === undefined) return undefined;
    return readIds(Array.isArray(value) ? value : [value], this.nameOf("ids"), {
      countMax,
      bytesMax: this.#limits.idBytesMax,
    });
  }

  vector(): Float32Array | undefined {
    const value = this.#value("vector");
    return value === undefined ? undefined : readFloats(value, this.nameOf("vector"), VALUES_MAX);
  }

  sparseVector(): SparseVector | undefined {
    const value = this.#value("sparseVector");
    if (value === undefined) return undefined;
    const name = this.nameOf("sparseVector");
    if (!isObject(value)) throw wrongType(name, "an object of indices and values");
    const object = new BodyObject(value, `${name}.`, this.#limits);
    const valuesMax = this.#limits.sparseValuesMax;
    const indices = readIndices(object.#value("indices"), `${name}.indices`, valuesMax);
    const values = readFloats(object.#value("values"), `${name}.values`, valuesMax);
    if (indices.length !== values.length) {
      throw unprocessableBody(
        `${name} has ${indices.length} indices and ${values.length} values; each index needs a value`,
      );
    }
    return { indices, values };
  }

  /** Compact JSON of an object. */
  metadata(): string | undefined {
    const value = this.#value("metadata");
    if (value === undefined) return undefined;
    const name = this.nameOf("metadata");
    if (!isObject(value)) throw wrongType(name, "an object");
    if (depthOf(value) > METADATA_DEPTH_MAX)
      throw unprocessableBody(`${name} is nested deeper than ${METADATA_DEPTH_MAX} levels`);
    return this.#within("metadata", JSON.stringify(value), this.#limits.metadataBytesMax);
  }

  data(): string | undefined {
    return this.text("data", this.#limits.dataBytesMax);
  }

  #value(name: string): unknown {
    const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
    return value === null ? undefined : value;
  }

  #within(name: string, text: string, bytesMax: number): string {
    const bytes = Buffer.byteLength(text);
    if (bytes > bytesMax) throw tooManyBytes(this.nameOf(name), bytes, bytesMax);
    return text;
  }
}

type NamespaceRule = "without namespace" | "with namespace";

/** A body that is one object. */
export function readObject(body: Buffer, limits: VectorLimits, rule: NamespaceRule = "without namespace"): BodyObject {
  const value = parse(body);
  if (!isObject(value)) throw wrongType("The body", "an object");
  return checked(value, "", limits, rule);
}

/** A body that is an object or a list of objects, of which a text calls one `listName[3]`. */
export function readObjects(
  body: Buffer,
  limits: VectorLimits,
  listName: string,
  countMax: number,
): { readonly objects: readonly BodyObject[]; readonly isList: boolean } {
  const value = parse(body);
  if (isObject(value)) return { objects: [checked(value, "", limits, "without namespace")], isList: false };
  if (!Array.isArray(value)) throw wrongType("The body", "an object or a list of objects");
  if (value.length > countMax) throw tooManyElements("The body", "elements", countMax);
  const objects = value.map((element: unknown, index) => {
    if (!isObject(element)) throw wrongType(`${listName}[${index}]`, "an object");
    return checked(element, `${listName}[${index}].`, limits, "without namespace");
  });
  return { objects, isList: true };
}

/** A body that is an object or a list of ids. */
export function readObjectOrIds(body: Buffer, limits: VectorLimits, countMax: number): BodyObject | string[] {
  const value = parse(body);
  if (Array.isArray(value)) return readIds(value, "ids", { countMax, bytesMax: limits.idBytesMax });
  if (!isObject(value)) throw wrongType("The body", "an object or a list of ids");
  return checked(value, "", limits, "without namespace");
}

function parse(body: Buffer): unknown {
  if (body.length === 0) throw emptyBody;
  try {
    return JSON.parse(body.utf8Slice());
  } catch (error) {
    if (error instanceof SyntaxError) throw malformedJson(0);
    throw error;
  }
}

function checked(value: Record<string, unknown>, where: string, limits: VectorLimits, rule: NamespaceRule): BodyObject {
  const object = new BodyObject(value, where, limits);
  // The client's fetch of the default namespace sends an empty one.
  if (rule === "without namespace" && (object.text("namespace") ?? "") !== "") {
    throw unprocessableBody(
      `${object.nameOf("namespace")} is not taken here: put it into the path, behind the command`,
    );
  }
  return object;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readId(value: unknown, name: string, bytesMax: number): string {
  if (typeof value !== "string" && !(typeof value === "number" && Number.isFinite(value)))
    throw wrongType(name, "a string or a number");
  const id = String(value).toWellFormed();
  if (id === "") throw unprocessableBody(`${name} is empty`);
  const bytes = Buffer.byteLength(id);
  if (bytes > bytesMax) throw tooManyBytes(name, bytes, bytesMax);
  return id;
}

function readIds(
  values: readonly unknown[],
  name: string,
  { countMax, bytesMax }: { readonly countMax: number; readonly bytesMax: number },
): string[] {
  if (values.length > countMax) throw tooManyElements(name, "ids", countMax);
  return values.map((value, index) => readId(value, `${name}[${index}]`, bytesMax));
}

function readFloats(value: unknown, name: string, countMax: number): Float32Array {
  if (!Array.isArray(value)) throw wrongType(name, "a list of numbers");
  if (value.length > countMax) throw tooManyElements(name, "values", countMax);
  return Float32Array.from(value, (element: unknown, index) => {
    if (typeof element !== "number") throw wrongType(`${name}[${index}]`, "a number");
    if (!Number.isFinite(Math.fround(element)))
      throw wrongType(`${name}[${index}]`, "a number within the range of float32");
    return element;
  });
}

function readIndices(value: unknown, name: string, countMax: number): Int32Array {
  if (!Array.isArray(value)) throw wrongType(name, "a list of whole numbers");
  if (value.length > countMax) throw tooManyElements(name, "indices", countMax);
  return Int32Array.from(value, (element: unknown, index) => {
    if (typeof element === "number" && Number.isInteger(element) && element >= INT32_MIN && element <= INT32_MAX)
      return element;
    throw wrongType(`${name}[${index}]`, "a whole number of 32 bits with sign");
  });
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let depth = 0;
  for (const member of Object.values(value)) depth = Math.max(depth, depthOf(member));
  return depth + 1;
}
