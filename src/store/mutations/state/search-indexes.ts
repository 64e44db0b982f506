/**
 * Definitions of search indexes, and aliases, as records. The indexes themselves
 * are derived from the keys, so nothing of them is recorded but the order of their
 * documents: now and then, and in snapshots.
 *
 *     200 put-search-definition   | key bytes | data type | count | prefix bytes | … | language bytes | count | field | … |
 *     201 put-search-order        | key bytes | index of the first | count | hash double | … |
 *     202 put-search-alias        | alias bytes | name bytes |
 *     203 remove-search-alias     | alias bytes |
 *     field                       | name bytes | type | flags | path bytes, with flag 8 |
 *
 * Data types and types of fields are their places in the lists below, which only
 * grow. Flags are a sum of 1 NOTOKENIZE, 2 NOSTEM, 4 FAST, 8 FROM. A hash is
 * `hashOfKey` of a key.
 */
import { assert } from "../../../kernel/assert.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../../kernel/frame.ts";
import type { Keyspace } from "../../keyspace.ts";
import {
  type DataType,
  type FieldType,
  type IndexDefinition,
  type Language,
  languages,
  type SearchField,
} from "../../search/definition.ts";
import { SearchDefinition } from "../../values/search-definition.ts";
import { applyPut } from "../generic.ts";
import type { Description, Mutation, StateMutation } from "../mutation.ts";

const PUT_DEFINITION = 200;
const PUT_ORDER = 201;
const PUT_ALIAS = 202;
const REMOVE_ALIAS = 203;

const dataTypes: readonly DataType[] = ["HASH", "JSON", "STRING"];
const fieldTypes: readonly FieldType[] = ["TEXT", "KEYWORD", "U64", "I64", "F64", "BOOL", "DATE", "FACET"];

const NO_TOKENS = 1;
const NO_STEMS = 2;
const FAST = 4;
const HAS_PATH = 8;

/** Hashes in one record: 32 KB. */
export const HASHES_PER_RECORD = 4_096;

/** Creates an index. The key must not exist. */
export function putDefinition(keyspace: Keyspace, key: Bytes, definition: IndexDefinition): SearchDefinition {
  const value = new SearchDefinition(definition);
  writeDefinition(keyspace.change(PUT_DEFINITION, key), definition);
  applyDefinition(keyspace, key, value);
  return value;
}

/** A part of the order of the documents of an index. */
export interface OrderPart {
  readonly key: Bytes;
  /** The place of the first hash; 0 begins a new order. */
  readonly at: number;
  readonly hashes: readonly number[];
}

/** Records a part of an order. Of a hash that comes twice, the last place counts. */
export function recordOrder(keyspace: Keyspace, part: OrderPart): void {
  writeOrder(keyspace.record(PUT_ORDER), part);
}

/** Makes an alias name this index, which need not exist. */
export function putAlias(keyspace: Keyspace, alias: Bytes, name: Bytes): void {
  keyspace.record(PUT_ALIAS).bytes(alias).bytes(name);
  applyAlias(keyspace, alias, name);
}

/** Removes an alias, which must exist. */
export function removeAlias(keyspace: Keyspace, alias: Bytes): void {
  keyspace.record(REMOVE_ALIAS).bytes(alias);
  applyAlias(keyspace, alias, undefined);
}

export const searchMutations: readonly Mutation[] = [
  {
    code: PUT_DEFINITION,
    name: "put-search-definition",
    apply: (keyspace, record) =>
      applyDefinition(keyspace, record.bytes(), new SearchDefinition(readDefinition(record))),
  },
  { code: PUT_ORDER, name: "put-search-order", apply: applyOrder },
];

export const aliasMutations: readonly StateMutation[] = [
  {
    code: PUT_ALIAS,
    name: "put-search-alias",
    apply: ({ keyspace }, record) => applyAlias(keyspace, record.bytes(), record.bytes()),
    describe: ({ keyspace }, record) => {
      for (const [alias, name] of keyspace.search.aliases) record(PUT_ALIAS).bytes(alias).bytes(name);
    },
  },
  {
    code: REMOVE_ALIAS,
    name: "remove-search-alias",
    apply: ({ keyspace }, record) => applyAlias(keyspace, record.bytes(), undefined),
  },
];

/** Writes the records that rebuild a definition, with the order of its documents. */
export function describeDefinition({ key, value, record }: Description<SearchDefinition>): void {
  writeDefinition(record(PUT_DEFINITION).bytes(key), value.definition);
  describeOrder({ key, value, record });
}

function describeOrder({ key, value, record }: Description<SearchDefinition>): void {
  let hashes: number[] = [];
  let at = 0;
  const write = (): void => {
    writeOrder(record(PUT_ORDER), { key, at, hashes });
    at += hashes.length;
    hashes = [];
  };
  for (const hash of value.order()) if (hashes.push(hash) === HASHES_PER_RECORD) write();
  if (hashes.length > 0 || at === 0) write();
}

function writeOrder(record: FrameWriter, { key, at, hashes }: OrderPart): void {
  record.bytes(key).number(at).number(hashes.length);
  for (const hash of hashes) record.double(hash);
}

function applyDefinition(keyspace: Keyspace, key: Bytes, value: SearchDefinition): void {
  const { search, undo } = keyspace;
  applyPut(keyspace, key, value);
  undo?.push(0, () => search.removeDefinition(key));
  search.putDefinition(key, value);
}

function applyOrder(keyspace: Keyspace, record: FrameReader): void {
  const value = keyspace.entries.get(record.bytes());
  const at = record.number();
  const hashes: number[] = [];
  for (let left = record.number(); left > 0; left -= 1) hashes.push(record.double());
  if (!(value instanceof SearchDefinition)) return;
  keyspace.meter.change(value);
  value.storeOrder(at, hashes);
}

/** `name`: undefined removes the alias. */
function applyAlias({ search, undo }: Keyspace, alias: Bytes, name: Bytes | undefined): void {
  if (undo !== undefined) {
    const old = search.aliases.get(alias);
    undo.push(alias.length + (old?.length ?? 0), () => search.setAlias(alias, old));
  }
  search.setAlias(alias, name);
}

function writeDefinition(record: FrameWriter, { dataType, prefixes, language, fields }: IndexDefinition): void {
  record.number(dataTypes.indexOf(dataType)).number(prefixes.length);
  for (const prefix of prefixes) record.bytes(prefix);
  record.bytes(language).number(fields.length);
  for (const { name, type, isTokenized, isStemmed, isFast, path } of fields) {
    const flags =
      (isTokenized ? 0 : NO_TOKENS) |
      (isStemmed ? 0 : NO_STEMS) |
      (isFast ? FAST : 0) |
      (path === undefined ? 0 : HAS_PATH);
    record.bytes(name).number(fieldTypes.indexOf(type)).number(flags);
    if (path !== undefined) record.bytes(path);
  }
}

function readDefinition(record: FrameReader): IndexDefinition {
  const dataType = dataTypes[record.number()];
  assert(dataType !== undefined, "a definition has a data type that this version knows");
  const prefixes: Bytes[] = [];
  for (let left = record.number(); left > 0; left -= 1) prefixes.push(record.bytes());
  const language = readLanguage(record);
  const fields: SearchField[] = [];
  for (let left = record.number(); left > 0; left -= 1) fields.push(readField(record));
  return { dataType, prefixes, language, fields };
}

function readLanguage(record: FrameReader): Language {
  const found = record.bytes();
  const language = languages.find((name) => name === found);
  assert(language !== undefined, "a definition has a language that this version knows");
  return language;
}

function readField(record: FrameReader): SearchField {
  const name = record.bytes();
  const type = fieldTypes[record.number()];
  assert(type !== undefined, "a field of an index has a type that this version knows");
  const flags = record.number();
  return {
    name,
    type,
    isTokenized: (flags & NO_TOKENS) === 0,
    isStemmed: (flags & NO_STEMS) === 0,
    isFast: (flags & FAST) !== 0,
    path: (flags & HAS_PATH) === 0 ? undefined : record.bytes(),
  };
}
