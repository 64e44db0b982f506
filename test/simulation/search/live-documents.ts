/**
 * The documents of an index, read from the live keys through commands that read
 * whole values, by rules of their own: the slow twin of `src/store/search/document.ts`.
 */
import { type Bytes, bytesFromText, textFromBytes } from "../../../src/kernel/bytes.ts";
import type { FieldType, FieldValue, IndexDefinition, SearchDocument } from "../../../src/store/search/definition.ts";

/** A key as its commands show it. */
export type LiveKey =
  | { readonly type: "hash"; readonly fields: ReadonlyMap<Bytes, Bytes> }
  | { readonly type: "ReJSON-RL" | "string"; readonly text: Bytes }
  | { readonly type: "other" };

/** A number as it is spelled. */
class NumberText {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** The document of a key; undefined if the key has no document. */
export function documentOf(key: LiveKey, { dataType, fields }: IndexDefinition): SearchDocument | undefined {
  if (key.type === "hash")
    return dataType === "HASH"
      ? fields.map(({ type, name, path }) => valuesOfText(type, key.fields.get(path ?? name)))
      : undefined;
  if (key.type === "other" || (key.type === "string" ? "STRING" : "JSON") !== dataType) return undefined;
  const root = parsed(key.text);
  if (!isObject(root)) return undefined;
  return fields.map(({ type, name, path }) => {
    let node: unknown = root;
    for (const step of textFromBytes(path ?? name).split(".")) node = isObject(node) ? node[step] : undefined;
    const values = (Array.isArray(node) ? node : [node])
      .map((element: unknown) => valueIn(type, element))
      .filter((value) => value !== undefined);
    return values.length === 0 ? undefined : values;
  });
}

function isObject(node: unknown): node is Record<string, unknown> {
  return typeof node === "object" && node !== null && !Array.isArray(node) && !(node instanceof NumberText);
}

function parsed(text: Bytes): unknown {
  const reviver = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === "number" ? new NumberText(context?.source ?? `${value}`) : value;
  try {
    return JSON.parse(textFromBytes(text), reviver);
  } catch {
    return undefined;
  }
}

function valueIn(type: FieldType, node: unknown): FieldValue | undefined {
  if (node instanceof NumberText) {
    const { source } = node;
    if (type === "F64") return Number(source);
    if (type !== "U64" && type !== "I64") return undefined;
    if (/^-?\d+$/.test(source)) return wholeOf(type, BigInt(source));
    return Number.isInteger(Number(source)) ? wholeOf(type, BigInt(Number(source))) : undefined;
  }
  if (typeof node === "boolean") return type === "BOOL" ? Number(node) : undefined;
  if (typeof node !== "string" || !["TEXT", "KEYWORD", "DATE", "FACET"].includes(type)) return undefined;
  return valuesOfText(type, bytesFromText(node))?.[0];
}

function valuesOfText(type: FieldType, text: Bytes | undefined): readonly FieldValue[] | undefined {
  if (text === undefined) return undefined;
  const value = ((): FieldValue | undefined => {
    switch (type) {
      case "TEXT":
      case "KEYWORD":
        return text;
      case "FACET":
        return text.startsWith("/") ? text : undefined;
      case "BOOL":
        return text === "true" ? 1 : text === "false" ? 0 : undefined;
      case "DATE": {
        const ms = /^\d{4}-\d\d-\d\d(?:T.*(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
        return Number.isNaN(ms) ? undefined : ms;
      }
      case "F64":
        return /^[+-]?\d[\d.]*(?:e\d+)?$/.test(text) ? Number(text) : undefined;
      case "U64":
        return /^\d+$/.test(text) ? wholeOf(type, BigInt(text)) : undefined;
      case "I64":
        return /^-?\d+$/.test(text) ? wholeOf(type, BigInt(text)) : undefined;
    }
  })();
  return value === undefined ? undefined : [value];
}

function wholeOf(type: "U64" | "I64", value: bigint): FieldValue | undefined {
  const [least, bound] = type === "U64" ? [0n, 2n ** 64n] : [-(2n ** 63n), 2n ** 63n];
  if (value < least || value >= bound) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** A text that is equal for two documents exactly if their values are. */
export function textOfDocument(document: SearchDocument): string {
  return document
    .map((values) =>
      (values ?? [])
        .map((value) => (Object.is(value, -0) ? "-0" : `${typeof value} ${value}`.replaceAll(/[,|]/g, "_$&")))
        .join(","),
    )
    .join("|");
}
