/**
 * Reads JSON values and notes problems by path, such as
 * `store.databases[0].token`. Unknown fields are problems too; nothing is
 * ignored silently. A problem never contains the value of a secret.
 */
import { printable } from "../../kernel/log.ts";
import { BadValue } from "./values.ts";

export type Fields = ReadonlyMap<string, unknown>;

/** Most entries of one list. */
export const ENTRIES_MAX = 1_000;

/** A problem, as one sentence, and the path of its field; the path of the whole file is empty. */
export interface FieldProblem {
  readonly path: string;
  readonly text: string;
}

export class FieldReader {
  readonly found: FieldProblem[] = [];

  /** The sentences of the problems. */
  get problems(): readonly string[] {
    return this.found.map(({ text }) => text);
  }

  problem(path: string, text: string): void {
    this.found.push({ path, text: `${path === "" ? "the file" : path} ${text}` });
  }

  /** The fields of an object; a field that is not in `keys` is a problem. A missing value has no fields. */
  object(value: unknown, path: string, keys: readonly string[]): Fields {
    if (value === undefined) return new Map();
    if (!isPlainObject(value)) {
      this.problem(path, "is not an object");
      return new Map();
    }
    const fields = new Map(Object.entries(value));
    for (const key of fields.keys()) if (!keys.includes(key)) this.problem(at(path, key), "is not a known key");
    return fields;
  }

  array(value: unknown, path: string): readonly unknown[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.problem(path, "is not an array");
      return [];
    }
    if (value.length > ENTRIES_MAX) this.problem(path, `has more than ${ENTRIES_MAX} entries`);
    return value.slice(0, ENTRIES_MAX);
  }

  choice<Choice extends string>(value: unknown, path: string, choices: readonly Choice[]): Choice | undefined {
    const found = choices.find((choice) => choice === value);
    if (value !== undefined && found === undefined) this.problem(path, `is not one of ${choices.join(", ")}`);
    return found;
  }

  /** A string that `parse` accepts; a `BadValue` that it throws is a problem. */
  text(value: unknown, path: string, parse: (text: string) => string): string | undefined {
    if (value === undefined) return undefined;
    return this.attempt(path, () => {
      if (typeof value !== "string") throw new BadValue("it is not a string");
      return parse(value);
    });
  }

  /** A whole number from `min` to `max`. */
  count(value: unknown, path: string, { min, max }: { min: number; max: number }): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    this.problem(path, `is not a whole number from ${min} to ${max}`);
    return undefined;
  }

  /** A value in the form of a setting, such as a size or a time. */
  setting<Value>(value: unknown, path: string, parse: (text: string) => Value): Value | undefined {
    const text = value === undefined ? undefined : this.settingText(value, path);
    return text === undefined ? undefined : this.attempt(path, () => parse(text));
  }

  /** The result of `step`; a `BadValue` that it throws is a problem. */
  attempt<Value>(path: string, step: () => Value): Value | undefined {
    try {
      return step();
    } catch (fault) {
      if (!(fault instanceof BadValue)) throw fault;
      this.problem(path, `is refused: ${fault.message}`);
      return undefined;
    }
  }

  unique(seen: Map<string, string>, value: string | undefined, path: string): void {
    if (value === undefined) return;
    const earlier = seen.get(value);
    if (earlier !== undefined) this.problem(path, `is the same as ${earlier}`);
    else seen.set(value, path);
  }

  /** A setting's value as the text that its row parses: `true` is `on`, an array is joined by commas. */
  settingText(value: unknown, path: string): string | undefined {
    if (typeof value === "string") return value;
    if (typeof value === "number") return String(value);
    if (typeof value === "boolean") return value ? "on" : "off";
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(",");
    this.problem(path, "is not a string, a number, true, false or an array of strings");
    return undefined;
  }
}

/** The path of a field, which can be printed; the path of a top-level field is its name. */
export function at(path: string, key: string): string {
  const name = printable(key);
  return path === "" ? name : `${path}.${name}`;
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
