/**
 * Reads values of a store without DUMP with the commands of their types, and
 * makes dumps of them. One row for each type.
 *
 * (1) Possibly large values are read in pages of PAGE_COUNT, so a change between
 *     two pages may be in one of them only.
 * (2) Pages of SCAN may repeat an element; it counts once.
 * (3) A server returns past times as ages; in the dump they are times, exact to
 *     the duration of the response.
 */
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";
import {
  compareIds,
  type Dumped,
  type DumpedConsumer,
  type DumpedEntry,
  type DumpedGroup,
  ID_MIN,
  parseFloat64,
  parseId,
  type StreamId,
  writePayload,
} from "../../store/structures/rdb/mod.ts";
import { ReplyError, type RespReply } from "../redis/replies.ts";
import { readSearchIndex, SEARCH_TYPE } from "../store/search-index.ts";
import type { SourceValue } from "../store/source.ts";

export interface ValueReader {
  /** The replies, in order; an error is a value. */
  readonly send: (commands: readonly (readonly Bytes[])[]) => Promise<readonly RespReply[]>;
  readonly nowMs: () => number;
}

/** The reply is not a value. */
class Unreadable extends Error {}

type ReadValue = (reader: ValueReader, key: Bytes) => Promise<Dumped | undefined>;

const PAGE_COUNT = 1_000;

const readers: ReadonlyMap<RespReply, ReadValue> = new Map([
  ["string", readString],
  ["list", readList],
  ["set", readSet],
  ["zset", readSortedSet],
  ["hash", readHash],
  ["stream", readStream],
]);

/** The names of JSON documents in TYPE: of the hosted service, and of Redis' module. */
export const documentTypes: readonly RespReply[] = ["json", "JSON", "ReJSON-RL"];

/** The value of a key of that type; undefined: the key no longer exists. */
export async function readValue(
  reader: ValueReader,
  { key, type }: { key: Bytes; type: RespReply },
): Promise<SourceValue | undefined> {
  if (type === "none") return undefined;
  try {
    if (documentTypes.includes(type)) {
      const text = await ask(reader, ["JSON.GET", key]);
      return typeof text === "string" ? { kind: "document", text } : undefined;
    }
    if (type === SEARCH_TYPE) {
      const index = await readSearchIndex(reader.send, key);
      return index instanceof ReplyError ? { kind: "refused", reason: index.text } : index;
    }
    const read = readers.get(type);
    if (read === undefined) return { kind: "refused", reason: `there is no reader for values of type ${String(type)}` };
    const dumped = await read(reader, key);
    return dumped === undefined ? undefined : { kind: "dump", payload: bytesFrom(writePayload(dumped)) };
  } catch (fault) {
    if (!(fault instanceof Unreadable)) throw fault;
    return { kind: "refused", reason: fault.message };
  }
}

async function readString(reader: ValueReader, key: Bytes): Promise<Dumped | undefined> {
  const bytes = await ask(reader, ["GET", key]);
  return typeof bytes === "string" ? { kind: "string", bytes } : undefined;
}

async function readList(reader: ValueReader, key: Bytes): Promise<Dumped | undefined> {
  const elements: Bytes[] = [];
  for (;;) {
    const from = elements.length;
    const page = bytesOf(await ask(reader, ["LRANGE", key, `${from}`, `${from + PAGE_COUNT - 1}`]));
    elements.push(...page);
    if (page.length < PAGE_COUNT) break;
  }
  return elements.length === 0 ? undefined : { kind: "list", elements };
}

async function readSet(reader: ValueReader, key: Bytes): Promise<Dumped | undefined> {
  const members = new Set<Bytes>();
  for await (const page of scan(reader, ["SSCAN", key])) for (const member of page) members.add(member);
  return members.size === 0 ? undefined : { kind: "set", members: [...members] };
}

async function readSortedSet(reader: ValueReader, key: Bytes): Promise<Dumped | undefined> {
  const scores = new Map<Bytes, number>();
  for await (const page of scan(reader, ["ZSCAN", key])) {
    for (const [member, text] of pairsOf(page)) {
      const score = parseFloat64(text);
      if (score === undefined) throw new Unreadable("a score is not a number");
      scores.set(member, score);
    }
  }
  if (scores.size === 0) return undefined;
  return { kind: "sorted set", members: [...scores.keys()], scores: [...scores.values()] };
}

async function readHash(reader: ValueReader, key: Bytes): Promise<Dumped | undefined> {
  const content = new Map<Bytes, Bytes>();
  for await (const page of scan(reader, ["HSCAN", key]))
    for (const [field, value] of pairsOf(page)) content.set(field, value);
  if (content.size === 0) return undefined;
  const fields = [...content.keys()];
  const expiriesMs = await readFieldExpiries(reader, key, fields);
  return { kind: "hash", fields, values: [...content.values()], ...(expiriesMs !== undefined && { expiriesMs }) };
}

/** The expiry time of each field, 0 for never; undefined if none expires, or if the source does not support it. */
async function readFieldExpiries(
  reader: ValueReader,
  key: Bytes,
  fields: readonly Bytes[],
): Promise<readonly number[] | undefined> {
  const expiriesMs: number[] = [];
  for (let from = 0; from < fields.length; from += PAGE_COUNT) {
    const page = fields.slice(from, from + PAGE_COUNT);
    const [reply] = await reader.send([["HPEXPIRETIME", key, "FIELDS", `${page.length}`, ...page]]);
    if (reply instanceof ReplyError || !Array.isArray(reply)) return undefined;
    for (const atMs of reply) expiriesMs.push(typeof atMs === "number" && atMs > 0 ? atMs : 0);
  }
  return expiriesMs.some((atMs) => atMs > 0) ? expiriesMs : undefined;
}

async function readStream(reader: ValueReader, key: Bytes): Promise<Dumped | undefined> {
  const about = fieldsOf(await ask(reader, ["XINFO", "STREAM", key]));
  const entries: DumpedEntry[] = [];
  for await (const [idText, words] of idPages(reader, { command: ["XRANGE", key], tail: ["COUNT", `${PAGE_COUNT}`] })) {
    const pairs = pairsOf(bytesOf(words ?? null));
    const [names, values] = [pairs.map(([name]) => name), pairs.map(([, value]) => value)];
    entries.push({ ...idOf(idText), names, values });
  }
  const lastId = idOf(about.get("last-generated-id"));
  const added = about.get("entries-added");
  const maxDeleted = about.get("max-deleted-entry-id");
  return {
    kind: "stream",
    entries,
    lastId,
    maxDeletedId: maxDeleted === undefined ? ID_MIN : idOf(maxDeleted),
    addedCount: typeof added === "number" ? added : entries.length,
    groups: await readGroups(reader, key),
  };
}

async function readGroups(reader: ValueReader, key: Bytes): Promise<readonly DumpedGroup[]> {
  const groups: DumpedGroup[] = [];
  for (const row of itemsOf(await ask(reader, ["XINFO", "GROUPS", key]))) {
    const fields = fieldsOf(row);
    const name = fields.get("name");
    const readCount = fields.get("entries-read");
    if (typeof name !== "string") throw new Unreadable("a group of the stream has no name");
    groups.push({
      name,
      lastId: idOf(fields.get("last-delivered-id")),
      readCount: typeof readCount === "number" ? readCount : undefined,
      consumers: await readConsumers(reader, { key, group: name }),
    });
  }
  return groups;
}

async function readConsumers(
  reader: ValueReader,
  { key, group }: { key: Bytes; group: Bytes },
): Promise<readonly DumpedConsumer[]> {
  const consumers = new Map<Bytes, { name: Bytes; seenMs: number; pending: DumpedConsumer["pending"][number][] }>();
  const rows = itemsOf(await ask(reader, ["XINFO", "CONSUMERS", key, group]));
  const seenBefore = reader.nowMs();
  for (const row of rows) {
    const fields = fieldsOf(row);
    const name = fields.get("name");
    if (typeof name !== "string") throw new Unreadable("a consumer of the stream has no name");
    consumers.set(name, { name, seenMs: seenBefore - countOf(fields.get("idle")), pending: [] });
  }
  const pages = { command: ["XPENDING", key, group], tail: [`${PAGE_COUNT}`] };
  for await (const [idText, name, idle, deliveries] of idPages(reader, pages)) {
    const deliveredAtMs = reader.nowMs() - countOf(idle); // keeps (3)
    // A consumer that was created between the two commands belongs to a later state.
    consumers.get(String(name))?.pending.push({ ...idOf(idText), deliveredAtMs, deliveryCount: countOf(deliveries) });
  }
  for (const { pending } of consumers.values()) pending.sort(compareIds);
  return [...consumers.values()];
}

/** Rows that begin with an id, page by page from the first id to the last. */
async function* idPages(
  reader: ValueReader,
  { command, tail }: { command: readonly Bytes[]; tail: readonly Bytes[] },
): AsyncIterable<readonly RespReply[]> {
  let from = "-";
  for (;;) {
    const page = itemsOf(await ask(reader, [...command, from, "+", ...tail])).map(itemsOf);
    yield* page;
    const last = page.at(-1)?.[0];
    if (page.length < PAGE_COUNT || typeof last !== "string") return;
    from = `(${last}`;
  }
}

/** The elements of each page of a scan. */
async function* scan(reader: ValueReader, command: readonly Bytes[]): AsyncIterable<readonly Bytes[]> {
  let cursor: RespReply = "0";
  do {
    const reply: RespReply = await ask(reader, [...command, cursor, "COUNT", `${PAGE_COUNT}`]);
    const [next, page] = itemsOf(reply);
    if (typeof next !== "string") throw new Unreadable(`the reply to ${command[0]} is not a page`);
    yield bytesOf(page ?? null);
    cursor = next;
  } while (cursor !== "0");
}

async function ask(reader: ValueReader, words: readonly Bytes[]): Promise<RespReply> {
  const [reply = null] = await reader.send([words]);
  if (reply instanceof ReplyError) throw new Unreadable(reply.text);
  return reply;
}

function itemsOf(reply: RespReply): readonly RespReply[] {
  return Array.isArray(reply) ? reply : [];
}

function bytesOf(reply: RespReply): readonly Bytes[] {
  return itemsOf(reply).map((item) => {
    if (typeof item === "string") return item;
    throw new Unreadable("an element of the value is not a string");
  });
}

function pairsOf(items: readonly Bytes[]): readonly (readonly [Bytes, Bytes])[] {
  return Array.from({ length: items.length >> 1 }, (_, index) => [items[2 * index] ?? "", items[2 * index + 1] ?? ""]);
}

/** Alternating names and values. */
function fieldsOf(reply: RespReply): ReadonlyMap<RespReply, RespReply> {
  const items = itemsOf(reply);
  return new Map(items.flatMap((name, index) => (index % 2 === 0 ? [[name, items[index + 1] ?? null]] : [])));
}

function idOf(reply: RespReply | undefined): StreamId {
  const id = typeof reply === "string" ? parseId(reply, 0) : undefined;
  if (id === undefined) throw new Unreadable("invalid stream id");
  return id;
}

function countOf(reply: RespReply | undefined): number {
  return typeof reply === "number" ? Math.max(0, reply) : 0;
}
