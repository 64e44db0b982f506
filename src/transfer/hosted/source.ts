/**
 * A hosted store as a source, over its HTTP interface: keys by SCAN, values by
 * DUMP, or with the commands of their types if it has no DUMP. A position names
 * the process that returned its cursor, if INFO names one: see `redis/source.ts`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { AreaClient } from "../area-client.ts";
import { ReplyError, type RespReply } from "../redis/replies.ts";
import {
  runIdOf,
  type SourceBatch,
  type SourceEntry,
  type SourceLibraries,
  type SourceValue,
  type StoreSource,
  sourceRefusal,
} from "../store/source.ts";
import { HostedCalls } from "./calls.ts";
import { documentTypes, readValue, type ValueReader } from "./values.ts";

/** Keys of one page: their values come in one response too, and services limit its size. */
const PAGE_KEYS = 100;

export class HostedSource implements StoreSource {
  readonly name: string;
  readonly #client: AreaClient;
  readonly #calls: HostedCalls;
  readonly #reader: ValueReader;
  #hasDump = true;
  #hasPexpiretime = true;
  #runId = "";

  constructor(client: AreaClient, clock: Clock) {
    this.name = client.base;
    this.#client = client;
    this.#calls = new HostedCalls(client);
    this.#reader = { send: (commands) => this.#calls.send(commands), nowMs: () => clock.nowMs() };
  }

  get identity(): string {
    return this.name;
  }

  async open(): Promise<{ keyCount: number | undefined; remarks: readonly string[] }> {
    // Missing read rights are reported first.
    await this.#calls.call(["SCAN", "0", "COUNT", "1"]);
    // A service reports an unsupported command also for a missing key.
    const questions = [["DBSIZE"], ["DUMP", ""], ["PEXPIRETIME", ""], ["INFO", "server"]];
    const [size, dump, moment, facts] = await this.#calls.send(questions);
    this.#runId = runIdOf(facts);
    this.#hasDump = !(dump instanceof ReplyError);
    this.#hasPexpiretime = !(moment instanceof ReplyError);
    const remarks = this.#hasDump ? [] : ["it has no DUMP: values are read with the commands of their types"];
    return { keyCount: typeof size === "number" ? size : undefined, remarks };
  }

  async readLibraries(): Promise<SourceLibraries> {
    const [reply = null] = await this.#calls.send([["FUNCTION", "LIST", "WITHCODE"]]);
    if (reply instanceof ReplyError) return { codes: [], remark: `functions cannot be read: ${reply.text}` };
    return { codes: listOf(reply).flatMap(codeOf) };
  }

  continuesAt(position: string): boolean {
    return position.startsWith(`${this.#runId} `);
  }

  async *batches(from: string | undefined): AsyncIterable<SourceBatch> {
    let cursor = from?.slice(this.#runId.length + 1) ?? "0";
    do {
      const [next, page] = listOf(await this.#calls.call(["SCAN", cursor, "COUNT", `${PAGE_KEYS}`]));
      if (typeof next !== "string" || !Array.isArray(page))
        throw sourceRefusal(this.name, "its reply to SCAN is not a page");
      const keys = page.filter((key) => typeof key === "string");
      cursor = next;
      yield { entries: await this.#read(keys), position: `${this.#runId} ${cursor}` };
    } while (cursor !== "0");
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** The keys that still exist, with their values. */
  async #read(keys: readonly Bytes[]): Promise<readonly SourceEntry[]> {
    const expiry = this.#hasPexpiretime ? "PEXPIRETIME" : "PTTL";
    const replies = await this.#calls.send(
      keys.flatMap((key) => [
        ["TYPE", key],
        [expiry, key],
      ]),
    );
    const nowMs = this.#reader.nowMs();
    const dumps = this.#hasDump ? await this.#calls.send(keys.map((key) => ["DUMP", key])) : [];
    const entries: SourceEntry[] = [];
    for (const [index, key] of keys.entries()) {
      const type = replies[2 * index] ?? null;
      const time = replies[2 * index + 1];
      const value = await this.#valueOf(key, { type, dump: dumps[index] });
      const expires = typeof time === "number" && time >= 0;
      const atMs = expires ? time + (this.#hasPexpiretime ? 0 : nowMs) : undefined;
      if (value !== undefined) entries.push({ key, atMs, value });
    }
    return entries;
  }

  /** Undefined: the key no longer exists. */
  async #valueOf(
    key: Bytes,
    { type, dump }: { type: RespReply; dump: RespReply | undefined },
  ): Promise<SourceValue | undefined> {
    if (dump === null) return undefined;
    if (typeof dump === "string" && !documentTypes.includes(type)) return { kind: "dump", payload: dump };
    return readValue(this.#reader, { key, type });
  }
}

function listOf(reply: RespReply): readonly RespReply[] {
  return Array.isArray(reply) ? reply : [];
}

/** The code of a library in the reply to FUNCTION LIST WITHCODE: alternating names and values. */
function codeOf(library: RespReply): readonly Bytes[] {
  const fields = listOf(library);
  const code = fields[fields.indexOf("library_code") + 1];
  return fields.includes("library_code") && typeof code === "string" ? [code] : [];
}
