/**
 * Parameters of lists and bulk changes, in the query or in a JSON body with the
 * same names (C.filters, C.filters.body). A repeated name is a list.
 */
import { badRequest } from "../../messaging/mod.ts";
import { decodeText } from "./destination-target.ts";
import { readJsonObject, wrongType } from "./json-body.ts";

const EXPECTED = "a JSON object with filters";

export class Parameters {
  readonly #values = new Map<string, string[]>();

  /** `query` as written, without the `?`. An empty `body` has no parameters. Throws for a malformed one. */
  constructor(query: string, body?: Buffer) {
    for (const pair of query.split("&")) {
      if (pair === "") continue;
      const equals = pair.indexOf("=");
      const nameEnd = equals < 0 ? pair.length : equals;
      const value = equals < 0 ? "" : decodeText(pair.slice(equals + 1), "query");
      this.#add(decodeText(pair.slice(0, nameEnd), "query"), value);
    }
    if (body === undefined || body.length === 0) return;
    for (const [name, value] of Object.entries(readJsonObject(body, EXPECTED))) {
      if (value === null) continue;
      const items = Array.isArray(value) ? value : [value];
      // An empty list must not become a missing filter, which selects everything.
      if (items.length === 0) throw badRequest(`Invalid value for ${name}: the list is empty`);
      for (const item of items) this.#add(name, textOf(name, item));
    }
  }

  get names(): Iterable<string> {
    return this.#values.keys();
  }

  /** All values of a name, in order. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? NONE;
  }

  /** The first non-empty value of a name. */
  text(name: string): string | undefined {
    return this.all(name).find((value) => value !== "");
  }

  /** A whole number, 0 or more. */
  wholeNumber(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : parseWholeNumber(name, text);
  }

  #add(name: string, value: string): void {
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }
}

const NONE: readonly string[] = [];
const WHOLE_NUMBER = /^\d{1,15}$/;

export function parseWholeNumber(name: string, text: string): number {
  if (!WHOLE_NUMBER.test(text)) {
    throw badRequest(`Invalid value for ${name}: ${JSON.stringify(text.slice(0, 100))}: it must be a whole number`);
  }
  return Number(text);
}

function textOf(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw wrongType(name, "a string, a number, or a list of them");
}
