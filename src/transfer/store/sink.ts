/**
 * Stores the keys of a source in a database, batch by batch, and compares the
 * stored values with the source at once.
 *
 *     RESTORE, or JSON.SET for documents    in requests as large as the server accepts
 *     SEARCH.CREATE for search indexes      and SEARCH.ALIASADD for their aliases
 *     DUMP and PEXPIRETIME, or JSON.GET     of every key, after its RESTORE; contents are compared, not encodings
 *
 * (1) An existing key is left unchanged unless everything is to be replaced. It
 *     counts as the same if its content and its expiry are, so an import may be repeated.
 * (2) Every entry is counted once, by its outcome.
 * (3) An error that would fail every key (no memory, no rights) ends the import.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { CommandError, writeLibraries } from "../../store/structures/rdb/mod.ts";
import { printedBytes, ReplyError, type RespReply } from "../redis/replies.ts";
import type { StoreCalls } from "./calls.ts";
import { readSearchIndex, type SearchIndexValue } from "./search-index.ts";
import type { SourceEntry } from "./source.ts";
import { haveSameContent, isExpiredHash } from "./value-content.ts";

export const outcomes = ["stored", "same", "kept", "expired", "refused", "different"] as const;

/** The outcome of a key; `import.ts` has the texts for people. */
export type Outcome = (typeof outcomes)[number];

export interface StoreSinkOptions {
  readonly calls: StoreCalls;
  readonly clock: Clock;
  /** Whether existing keys are overwritten. */
  readonly replaces: boolean;
  /** Of a request. */
  readonly requestBytesMax: number;
  /** Called for refused and different keys, with the reason. */
  readonly onTrouble: (key: Bytes, reason: string) => void;
}

/** Errors with another beginning are not about one value: no memory, no rights, no disk. */
const VALUE_ERROR = /^ERR (?!max )/;
const EXISTS = "BUSYKEY";
/** RESTORE, DUMP, PEXPIRETIME. */
const COMMANDS_PER_DUMP = 3;
/** A source that reports only how long a key has left is inexact by the time that its reply takes. */
const SAME_EXPIRY_MS_MAX = 1_000;
/** Room for the frame of a request, and for differences in counting. */
const REQUEST_ROOM_BYTES = 1_024;

export class StoreSink {
  readonly #options: StoreSinkOptions;
  readonly #counts = new Map<Outcome, number>(outcomes.map((outcome) => [outcome, 0]));

  #hasWritten = false;

  constructor(options: StoreSinkOptions) {
    this.#options = options;
  }

  /** True once a key was written, even in a request that failed for other keys. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /**
   * Stores and compares the entries; resolves with the number of them by outcome. Once for each sink. Rejects with a
   * `StartRefusal` (3).
   */
  async store(entries: readonly SourceEntry[]): Promise<ReadonlyMap<Outcome, number>> {
    const { clock } = this.#options;
    const left: SourceEntry[] = [];
    for (const entry of entries) {
      if (entry.value.kind === "refused") this.#trouble("refused", entry.key, entry.value.reason);
      else if (entry.atMs !== undefined && entry.atMs <= clock.nowMs()) this.#count("expired");
      else left.push(entry);
    }
    await this.#storeDumps(left.flatMap((entry) => dumpOf(entry)));
    await this.#storeDocuments(left.flatMap((entry) => documentOf(entry)));
    for (const { key, value } of left) if (value.kind === "index") await this.#storeIndex(key, value);
    return this.#counts;
  }

  /** Stores libraries of functions one by one; resolves with how many are new, existed, or are refused. */
  async storeLibraries(codes: readonly Bytes[]): Promise<{ stored: number; kept: number; refused: number }> {
    const { calls, replaces, onTrouble } = this.#options;
    const counts = { stored: 0, kept: 0, refused: 0 };
    for (const code of codes) {
      const payload = writeLibraries([code]).latin1Slice();
      const [reply] = await calls.pipeline([["FUNCTION", "RESTORE", payload, replaces ? "REPLACE" : "APPEND"]]);
      if (!(reply instanceof ReplyError)) counts.stored += 1;
      else if (reply.text.includes("already exists")) counts.kept += 1;
      else {
        counts.refused += 1;
        onTrouble(code.split("\n", 1)[0] ?? "", reply.text);
      }
    }
    return counts;
  }

  async #storeDumps(entries: readonly DumpEntry[]): Promise<void> {
    const { calls, clock, replaces } = this.#options;
    const commands = entries.map(({ key, atMs, payload }) => [
      [
        "RESTORE",
        key,
        `${atMs ?? 0}`,
        payload,
        ...(atMs === undefined ? [] : ["ABSTTL"]),
        ...(replaces ? ["REPLACE"] : []),
      ],
      ["DUMP", key],
      ["PEXPIRETIME", key],
    ]);
    for (const { from, to } of this.#requests(entries, commands)) {
      const replies = await calls.pipeline(commands.slice(from, to).flat());
      const nowMs = clock.nowMs();
      for (const [index, entry] of entries.slice(from, to).entries()) {
        const first = COMMANDS_PER_DUMP * index;
        const [reply = null, dump = null, atMs] = replies.slice(first, first + COMMANDS_PER_DUMP);
        const isNew = this.#hasStored(entry, reply);
        if (isNew !== undefined) this.#compareDump(entry, { isNew, dump, atMs, nowMs });
      }
    }
  }

  #compareDump(entry: DumpEntry, { isNew, dump, atMs, nowMs }: ReadBack): void {
    const { payload } = entry;
    const isSame = typeof dump === "string" && isTrue(() => haveSameContent(payload, dump, nowMs));
    const isThere = dump !== null;
    const isOver = hasExpired(entry, nowMs) || (!isThere && isTrue(() => isExpiredHash(payload, nowMs)));
    this.#compared(entry, { isNew, isSame, isThere, isOver, atMs });
  }

  async #storeDocuments(entries: readonly DocumentEntry[]): Promise<void> {
    const { calls, replaces } = this.#options;
    if (entries.length === 0) return;
    const existing = replaces ? [] : await calls.pipeline(entries.map(({ key }) => ["EXISTS", key]));
    const written: Written<DocumentEntry>[] = [];
    for (const [index, entry] of entries.entries()) {
      const { key, atMs, text } = entry;
      if (existing[index] === 1) {
        written.push({ entry, isNew: false });
        continue;
      }
      const commands = [
        ...(replaces ? [["DEL", key]] : []),
        ["JSON.SET", key, "$", text],
        ...(atMs === undefined ? [] : [["PEXPIREAT", key, `${atMs}`]]),
      ];
      if (!this.#fits(entry, bytesOf(commands))) continue;
      const error = await calls.transaction(commands);
      const isNew = this.#hasStored(entry, error === undefined ? "OK" : new ReplyError(error));
      if (isNew !== undefined) written.push({ entry, isNew });
    }
    await this.#compareDocuments(written);
  }

  async #compareDocuments(written: readonly Written<DocumentEntry>[]): Promise<void> {
    const { calls, clock } = this.#options;
    const replies = await calls.pipeline(
      written.flatMap(({ entry: { key } }) => [
        ["JSON.GET", key],
        ["PEXPIRETIME", key],
      ]),
    );
    const nowMs = clock.nowMs();
    for (const [index, { entry, isNew }] of written.entries()) {
      const text = replies[2 * index];
      const isSame = typeof text === "string" && plainText(text) === plainText(entry.text);
      const isOver = hasExpired(entry, nowMs);
      this.#compared(entry, { isNew, isSame, isThere: text !== null, isOver, atMs: replies[2 * index + 1] });
    }
  }

  /** Creates a search index and its aliases, and compares it. Its documents are keys like others. */
  async #storeIndex(key: Bytes, index: SearchIndexValue): Promise<void> {
    const { calls, replaces } = this.#options;
    const read = () => readSearchIndex((commands) => calls.pipeline(commands), key);
    const [existing] = replaces ? [0] : await calls.pipeline([["EXISTS", key]]);
    if (existing === 1) {
      const found = await read();
      this.#count(isSameIndex(index, found) ? "same" : "kept");
      return;
    }
    const error = await calls.transaction([
      ...(replaces ? [["DEL", key]] : []),
      ["SEARCH.CREATE", key, ...index.words],
      ...index.aliases.map((alias) => ["SEARCH.ALIASADD", alias, key]),
    ]);
    if (error !== undefined) {
      if (!VALUE_ERROR.test(error)) throw new StartRefusal(`${calls.base}: ${error}`); // keeps (3)
      this.#trouble("refused", key, error);
      return;
    }
    this.#hasWritten = true;
    if (isSameIndex(index, await read())) this.#count("stored");
    else this.#trouble("different", key, "the index differs from the source");
  }

  /** Handles the reply to RESTORE or JSON.SET of an entry. False: the key exists; undefined: it is refused. */
  #hasStored(entry: DumpEntry | DocumentEntry, reply: RespReply): boolean | undefined {
    if (!(reply instanceof ReplyError)) {
      this.#hasWritten = true;
      return true;
    }
    if (reply.text.startsWith(EXISTS)) return false;
    if (!VALUE_ERROR.test(reply.text)) throw new StartRefusal(`${this.#options.calls.base}: ${reply.text}`); // keeps (3)
    this.#trouble("refused", entry.key, reply.text);
    return undefined;
  }

  /** keeps (2) */
  #compared(entry: DumpEntry | DocumentEntry, found: Found): void {
    const { isNew, isSame, isThere, isOver, atMs } = found;
    if (!isNew) this.#count(isSame && hasSameExpiry(entry, atMs) ? "same" : "kept");
    else if (!isThere && isOver) this.#count("expired");
    else if (!isSame) this.#trouble("different", entry.key, "the stored value differs from the source");
    else if (!isOver && atMs !== (entry.atMs ?? -1))
      this.#trouble("different", entry.key, `it expires at ${String(atMs)} instead of ${entry.atMs ?? -1}`);
    else this.#count("stored");
  }

  /** Splits the commands of keys into requests that are not too large; refuses a key that is too large alone. */
  #requests(entries: readonly DumpEntry[], commands: readonly (readonly (readonly Bytes[])[])[]): readonly Range[] {
    const ranges: Range[] = [];
    let from = 0;
    let bytes = 0;
    for (const [index, commandsOfKey] of commands.entries()) {
      const entry = entries[index] as DumpEntry;
      const commandBytes = bytesOf(commandsOfKey);
      const fits = this.#fits(entry, commandBytes);
      if (!fits || bytes + commandBytes > this.#requestBytesMax) {
        if (index > from) ranges.push({ from, to: index });
        from = fits ? index : index + 1;
        bytes = 0;
      }
      if (fits) bytes += commandBytes;
    }
    if (commands.length > from) ranges.push({ from, to: commands.length });
    return ranges;
  }

  #fits(entry: DumpEntry | DocumentEntry, byteCount: number): boolean {
    if (byteCount <= this.#requestBytesMax) return true;
    const { requestBytesMax } = this.#options;
    const reason = `it takes ${byteCount} bytes, but a request to this larder may have at most ${requestBytesMax}: set a larger --max-request-size for it and for this command, or stop it during the import`;
    this.#trouble("refused", entry.key, reason);
    return false;
  }

  get #requestBytesMax(): number {
    return this.#options.requestBytesMax - REQUEST_ROOM_BYTES;
  }

  #trouble(outcome: Outcome, key: Bytes, reason: string): void {
    this.#count(outcome);
    this.#options.onTrouble(key, reason);
  }

  #count(outcome: Outcome): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }
}

interface DumpEntry {
  readonly key: Bytes;
  readonly atMs: number | undefined;
  readonly payload: Bytes;
}

interface DocumentEntry {
  readonly key: Bytes;
  readonly atMs: number | undefined;
  readonly text: Bytes;
}

interface Written<Entry> {
  readonly entry: Entry;
  /** False: the key existed and was left unchanged. */
  readonly isNew: boolean;
}

interface Found {
  readonly isNew: boolean;
  readonly isSame: boolean;
  readonly isThere: boolean;
  /** The key, or every field of its hash, has expired since: its absence is correct. */
  readonly isOver: boolean;
  readonly atMs: RespReply | undefined;
}

interface ReadBack {
  readonly isNew: boolean;
  readonly dump: RespReply;
  readonly atMs: RespReply | undefined;
  readonly nowMs: number;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function bytesOf(commands: readonly (readonly Bytes[])[]): number {
  return commands.reduce((sum, words) => sum + printedBytes(words), 0);
}

function hasSameExpiry(entry: DumpEntry | DocumentEntry, atMs: RespReply | undefined): boolean {
  const expected = entry.atMs ?? -1;
  if (atMs === expected) return true;
  return typeof atMs === "number" && atMs > 0 && expected > 0 && Math.abs(atMs - expected) <= SAME_EXPIRY_MS_MAX;
}

function hasExpired({ atMs }: DumpEntry | DocumentEntry, nowMs: number): boolean {
  return atMs !== undefined && atMs <= nowMs;
}

function dumpOf({ key, atMs, value }: SourceEntry): readonly DumpEntry[] {
  return value.kind === "dump" ? [{ key, atMs, payload: value.payload }] : [];
}

function documentOf({ key, atMs, value }: SourceEntry): readonly DocumentEntry[] {
  return value.kind === "document" ? [{ key, atMs, text: value.text }] : [];
}

/** An index may have more aliases than the source knows. */
function isSameIndex(index: SearchIndexValue, found: SearchIndexValue | ReplyError | undefined): boolean {
  if (found === undefined || found instanceof ReplyError) return false;
  const aliases = new Set(found.aliases);
  return (
    JSON.stringify(found.words) === JSON.stringify(index.words) && index.aliases.every((alias) => aliases.has(alias))
  );
}

/** Nothing is true of an unreadable dump. */
function isTrue(statement: () => boolean): boolean {
  try {
    return statement();
  } catch (fault) {
    if (fault instanceof CommandError) return false;
    throw fault;
  }
}

/** Documents are compared as JSON values; spaces and escapes do not matter. */
function plainText(text: Bytes): string {
  const decoded = Buffer.from(text, "latin1").utf8Slice();
  try {
    return JSON.stringify(parseJsonText(decoded));
  } catch {
    return decoded;
  }
}
