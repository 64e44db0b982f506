/** The types of values: their names, and how a key of each begins. */
import type { Bytes } from "../values/bytes.ts";
import type { Words } from "../values/run.ts";

export interface StartField {
  readonly label: string;
  readonly isLong?: boolean;
  readonly start?: Bytes;
}

export interface KeyType {
  /** As TYPE returns it. */
  readonly name: string;
  readonly title: string;
  /** Absent: keys of this type are made elsewhere. */
  readonly fields?: readonly StartField[];
  /** Makes a key from the values of the fields. */
  readonly words?: (key: Bytes, values: readonly Bytes[]) => Words;
}

const value = { label: "Value", isLong: true };

export const keyTypes: readonly KeyType[] = [
  { name: "string", title: "String", fields: [value], words: (key, [text = ""]) => ["SET", key, text, "NX"] },
  {
    name: "hash",
    title: "Hash",
    fields: [{ label: "Field" }, value],
    words: (key, values) => ["HSET", key, ...values],
  },
  {
    name: "list",
    title: "List",
    fields: [{ label: "First element", isLong: true }],
    words: (key, values) => ["RPUSH", key, ...values],
  },
  {
    name: "set",
    title: "Set",
    fields: [{ label: "First member", isLong: true }],
    words: (key, values) => ["SADD", key, ...values],
  },
  {
    name: "zset",
    title: "Sorted set",
    fields: [
      { label: "Score", start: "0" },
      { label: "First member", isLong: true },
    ],
    words: (key, values) => ["ZADD", key, ...values],
  },
  {
    name: "stream",
    title: "Stream",
    fields: [{ label: "Field of the first entry" }, value],
    words: (key, values) => ["XADD", key, "*", ...values],
  },
  {
    name: "ReJSON-RL",
    title: "JSON",
    fields: [{ label: "Document", isLong: true, start: "{}" }],
    words: (key, [text = ""]) => ["JSON.SET", key, "$", text, "NX"],
  },
  { name: "search", title: "Search index" },
];

export function typeTitle(name: string): string {
  return keyTypes.find((type) => type.name === name)?.title ?? name;
}
