/** The parameters of one operator, which it reads by name. Those that it does not read are errors. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { CommandError } from "../../errors.ts";
import type { JsonNode } from "../../json/node.ts";
import { isNumber, WholeDouble } from "../../json/number.ts";
import { JsonObject } from "../../json/object.ts";
import { parameterInvalid, parameterMissing, parameterUnknown } from "../aggregation-errors.ts";
import type { FieldType, SearchField } from "../definition.ts";

/** Bounds of a histogram: both ends belong to them. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

export class AggregationParameters {
  readonly alias: Bytes;
  readonly operator: Bytes;
  readonly #object: JsonObject;
  readonly #read = new Set<Bytes>(["field"]);

  constructor(object: JsonObject, { alias, operator }: { alias: Bytes; operator: Bytes }) {
    this.#object = object;
    this.alias = alias;
    this.operator = operator;
  }

  /** The node of a parameter; undefined if it is missing or null. */
  node(name: Bytes): JsonNode | undefined {
    this.#read.add(name);
    return this.#object.get(name) ?? undefined;
  }

  /** A parameter that must be there. */
  required(name: Bytes): JsonNode {
    const node = this.node(name);
    if (node === undefined) throw parameterMissing(this.alias, name);
    return node;
  }

  /** An integer from `least` on. */
  integer<Missing>(name: Bytes, least: number, missing: Missing): number | Missing {
    const node = this.node(name);
    if (node === undefined) return missing;
    const value = plainNumber(node);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
    throw this.invalid(name, `must be an integer of at least ${least}`);
  }

  /** Any number, as a double. */
  double<Missing>(name: Bytes, missing: Missing): number | Missing {
    const node = this.node(name);
    return node === undefined ? missing : this.doubleOf(name, node);
  }

  /** The double of a node that belongs to the parameter `name`. */
  doubleOf(name: string, node: JsonNode): number {
    return Number(this.numberOf(name, node));
  }

  /** The number of a node, which is a bigint beyond ±(2^53 - 1). */
  numberOf(name: string, node: JsonNode): number | bigint {
    const value = plainNumber(node);
    if (value === undefined) throw this.invalid(name, "must be a number");
    return value;
  }

  boolean(name: Bytes, missing: boolean): boolean {
    const node = this.node(name);
    if (node === undefined) return missing;
    if (typeof node !== "boolean") throw this.invalid(name, "must be true or false");
    return node;
  }

  string(name: Bytes): Bytes | undefined {
    const node = this.node(name);
    if (node === undefined || typeof node === "string") return node;
    throw this.invalid(name, "must be a string");
  }

  array(name: Bytes, { countMax }: { countMax: number }): readonly JsonNode[] | undefined {
    const node = this.node(name);
    if (node === undefined) return undefined;
    if (!Array.isArray(node) || node.length === 0 || node.length > countMax)
      throw this.invalid(name, `must be an array of 1 to ${countMax} elements`);
    return node;
  }

  bounds(name: Bytes): Bounds | undefined {
    const node = this.node(name);
    if (node === undefined) return undefined;
    if (!(node instanceof JsonObject) || node.size !== 2) throw this.invalid(name, BOUNDS_RULE);
    const [min, max] = [plainNumber(node.get("min") ?? null), plainNumber(node.get("max") ?? null)];
    if (min === undefined || max === undefined || min > max) throw this.invalid(name, BOUNDS_RULE);
    return { min: Number(min), max: Number(max) };
  }

  /** The value for documents without one: a number, a string for a KEYWORD, and a boolean or 0 or 1 for a BOOL. */
  missing({ type }: Pick<SearchField, "type">): Bytes | number | bigint | undefined {
    const node = this.node("missing");
    if (node === undefined) return undefined;
    if (type === "KEYWORD") {
      if (typeof node === "string") return node;
      throw this.invalid("missing", "must be a string for a field of type KEYWORD");
    }
    const value = typeof node === "boolean" ? Number(node) : plainNumber(node);
    const fits = type === "BOOL" ? value === 0 || value === 1 : typeof node !== "boolean";
    if (value === undefined || !fits) throw this.invalid("missing", MISSING_RULES[type] ?? "must be a number");
    return value;
  }

  /** As `missing`, for operators that take only numbers. */
  missingNumber(field: Pick<SearchField, "type">): number | bigint | undefined {
    const value = this.missing(field);
    return typeof value === "string" ? undefined : value;
  }

  /** Throws if the operator has parameters that it does not know. */
  finish(): void {
    this.#object.visit((name) => {
      if (!this.#read.has(name)) throw parameterUnknown(this.alias, { operator: this.operator, name });
    });
  }

  invalid(name: string, rule: string): CommandError {
    return parameterInvalid(this.alias, { name, rule });
  }
}

const BOUNDS_RULE = "must be an object with the numbers min and max, min not above max";

const MISSING_RULES: Partial<Record<FieldType, string>> = {
  BOOL: "must be true or false",
  DATE: "must be a number of milliseconds",
};

/** A number of JSON without its spelling; undefined for other nodes. */
function plainNumber(node: JsonNode): number | bigint | undefined {
  if (!isNumber(node)) return undefined;
  return node instanceof WholeDouble ? node.value + 0 : node;
}
