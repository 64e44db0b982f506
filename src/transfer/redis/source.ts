/**
 * A running Redis server as a source: its keys by SCAN, their values by DUMP. A
 * key that changes meanwhile has its value at the time of reading; a key that is
 * created during SCAN may be missed.
 *
 * (1) Requests overlap: the next page of SCAN is asked for with the values of this
 *     one, of which CALLS_MAX requests are on their way.
 * (2) A cursor is only valid in the process that returned it: it depends on the seed
 *     of its hash function. A position names the process (`run_id`), and another one
 *     is read from the beginning.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { CommandError, readLibraries } from "../../store/structures/rdb/mod.ts";
import { documentTypes } from "../hosted/values.ts";
import { readSearchIndex, SEARCH_TYPE } from "../store/search-index.ts";
import {
  BATCH_BYTES,
  runIdOf,
  type SourceBatch,
  type SourceEntry,
  type SourceLibraries,
  type SourceValue,
  type StoreSource,
  sourceRefusal,
} from "../store/source.ts";
import { openRedis, printRedisAddress, type RedisAddress, type RedisConnection } from "./connection.ts";
import { ReplyError, type RespReply } from "./replies.ts";

/** The type byte of a module's value in a dump. */
const MODULE_VALUE = 7;
const PAGE_KEYS = 1_000;
/** The bytes that a request for values aims at, by the values before it; a batch of large values is cut when it is long enough. */
const CALL_BYTES = 256 * 1_024;
const DUMPS_PER_CALL_MAX = 500;
/** For the first request, of whose values nothing is known; later ones have at most so many times as many. */
const DUMPS_OF_FIRST_CALL = 20;
const DUMPS_GROWTH_MAX = 4;
/** Requests for values whose replies have not all arrived. */
const CALLS_MAX = 2;

export class RedisSource implements StoreSource {
  readonly name: string;
  readonly #address: RedisAddress;
  readonly #clock: Clock;
  #connection: RedisConnection | undefined;
  /** Redis 7 and later return the expiry time of a key; earlier versions only its TTL. */
  #hasPexpiretime = true;
  #dumpsPerCall = DUMPS_OF_FIRST_CALL;
  #runId = "";

  constructor(address: RedisAddress, clock: Clock) {
    this.name = printRedisAddress(address);
    this.#address = address;
    this.#clock = clock;
  }

  get identity(): string {
    return this.name;
  }

  async open(): Promise<{ keyCount: number | undefined; remarks: readonly string[] }> {
    this.#connection = await openRedis(this.#address, this.#clock);
    // Missing read rights are reported first.
    await this.#redis.call(["SCAN", "0", "COUNT", "1"]);
    const [size, moment, facts] = await this.#redis.send([["DBSIZE"], ["PEXPIRETIME", ""], ["INFO", "server"]]);
    this.#hasPexpiretime = !(moment instanceof ReplyError);
    this.#runId = runIdOf(facts);
    return { keyCount: typeof size === "number" ? size : undefined, remarks: [] };
  }

  async readLibraries(): Promise<SourceLibraries> {
    const [reply] = await this.#redis.send([["FUNCTION", "DUMP"]]);
    if (reply instanceof ReplyError) return { codes: [], remark: `functions cannot be read: ${reply.text}` };
    try {
      return { codes: typeof reply === "string" ? readLibraries(Buffer.from(reply, "latin1")) : [] };
    } catch (fault) {
      if (!(fault instanceof CommandError)) throw fault;
      return { codes: [], remark: `functions cannot be read: ${fault.text}` };
    }
  }

  /** keeps (2) */
  continuesAt(position: string): boolean {
    return this.#runId !== "" && position.startsWith(`${this.#runId} `);
  }

  async *batches(from: string | undefined): AsyncIterable<SourceBatch> {
    let cursor = from?.slice(this.#runId.length + 1) ?? "0";
    let page = this.#page(cursor);
    do {
      const { next, keys } = await page;
      // keeps (1)
      if (next !== "0") page = expected(this.#page(next));
      let batch: SourceEntry[] = [];
      let bytes = 0;
      for await (const entries of this.#values(keys)) {
        batch.push(...entries);
        for (const { value } of entries) bytes += value.kind === "dump" ? value.payload.length : 0;
        if (bytes < BATCH_BYTES) continue;
        // After an interruption, a cut page is read again completely.
        yield { entries: batch, position: `${this.#runId} ${cursor}` };
        batch = [];
        bytes = 0;
      }
      cursor = next;
      yield { entries: batch, position: `${this.#runId} ${cursor}` };
    } while (cursor !== "0");
  }

  async close(): Promise<void> {
    this.#connection?.close();
  }

  async #page(cursor: Bytes): Promise<{ readonly next: Bytes; readonly keys: readonly Bytes[] }> {
    const reply = await this.#redis.call(["SCAN", cursor, "COUNT", `${PAGE_KEYS}`]);
    const [next, keys] = Array.isArray(reply) ? (reply as readonly RespReply[]) : [];
    if (typeof next !== "string" || !Array.isArray(keys))
      throw sourceRefusal(this.name, "its reply to SCAN is not a page");
    return { next, keys: keys.filter(isBytes) };
  }

  /** The keys of a page that still exist, with their values, in order. keeps (1) */
  async *#values(keys: readonly Bytes[]): AsyncIterable<readonly SourceEntry[]> {
    const calls: Promise<readonly SourceEntry[]>[] = [];
    let at = 0;
    for (;;) {
      while (at < keys.length && calls.length < CALLS_MAX) {
        const end = at + this.#dumpsPerCall;
        calls.push(expected(this.#read(keys.slice(at, end))));
        at = end;
      }
      const call = calls.shift();
      if (call === undefined) return;
      const entries = await call;
      const lengths = entries.map(({ value }) => (value.kind === "dump" ? value.payload.length : 0));
      this.#dumpsPerCall = dumpsOfNextCall(this.#dumpsPerCall, lengths);
      yield entries;
    }
  }

  /** The keys that still exist, with their values. */
  async #read(keys: readonly Bytes[]): Promise<readonly SourceEntry[]> {
    const expiry = this.#hasPexpiretime ? "PEXPIRETIME" : "PTTL";
    const replies = await this.#redis.send(
      keys.flatMap((key) => [
        [expiry, key],
        ["DUMP", key],
      ]),
    );
    const nowMs = this.#clock.nowMs();
    const entries: SourceEntry[] = [];
    for (const [index, key] of keys.entries()) {
      const time = replies[2 * index];
      const dump = replies[2 * index + 1];
      if (dump === null || dump === undefined) continue;
      const value = await this.#valueOf(key, dump);
      if (value === undefined) continue;
      const expires = typeof time === "number" && time >= 0;
      entries.push({ key, atMs: expires ? time + (this.#hasPexpiretime ? 0 : nowMs) : undefined, value });
    }
    return entries;
  }

  /** Undefined: the key no longer exists. */
  async #valueOf(key: Bytes, dump: RespReply): Promise<SourceValue | undefined> {
    if (typeof dump === "string" && dump.charCodeAt(0) !== MODULE_VALUE) return { kind: "dump", payload: dump };
    const [type = null] = await this.#redis.send([["TYPE", key]]);
    if (type === SEARCH_TYPE) {
      const index = await readSearchIndex((commands) => this.#redis.send(commands), key);
      return index instanceof ReplyError ? { kind: "refused", reason: index.text } : index;
    }
    if (!documentTypes.includes(type)) {
      const reason = dump instanceof ReplyError ? dump.text : `it is a value of a module, of type ${String(type)}`;
      return { kind: "refused", reason };
    }
    const [text] = await this.#redis.send([["JSON.GET", key]]);
    if (text instanceof ReplyError) return { kind: "refused", reason: text.text };
    return typeof text === "string" ? { kind: "document", text } : undefined;
  }

  get #redis(): RedisConnection {
    if (this.#connection === undefined) throw new Error("The source is not open yet");
    return this.#connection;
  }
}

/**
 * How many values to ask for, after a request for `last` of them returned values of these lengths: few large ones, so
 * that no reply takes much memory, and many short ones.
 */
export function dumpsOfNextCall(last: number, lengths: readonly number[]): number {
  if (lengths.length === 0) return last;
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  const fitting = Math.floor((CALL_BYTES * lengths.length) / Math.max(bytes, 1));
  return Math.max(1, Math.min(fitting, DUMPS_GROWTH_MAX * last, DUMPS_PER_CALL_MAX));
}

/** A promise that is awaited later, and whose failure until then is not unhandled. */
function expected<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

function isBytes(reply: RespReply): reply is Bytes {
  return typeof reply === "string";
}
