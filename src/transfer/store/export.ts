/**
 * `larder export store <file.rdb>`: a database as a file that a plain
 * redis-server 7.0 loads. Values that such a server cannot hold (JSON documents,
 * hashes whose fields expire, search indexes) go to a second file (`documents-file.ts`).
 *
 * (1) SCAN returns each key once: it passes the space of hashes once, and a key's
 *     hash does not change. A repeated key would make the file useless.
 * (2) Both files are written under temporary names and renamed when they are
 *     complete and on disk, so a file never has its name before it is complete.
 */
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";
import { systemClock } from "../../kernel/clock.ts";
import { assertOutputFile } from "../../program/cli/backups/output-file.ts";
import type { CommandCall } from "../../program/cli/command-row.ts";
import { type Progress, progressOf } from "../../program/cli/progress.ts";
import { codeOf, StartRefusal } from "../../program/refusal.ts";
import { REDIS_VERSION } from "../../store/structures/rdb/mod.ts";
import { documentsPath, printDocument } from "../documents-file.ts";
import { RdbWriter } from "../redis/rdb-writer.ts";
import { ReplyError, type RespReply } from "../redis/replies.ts";
import { openTarget } from "../target.ts";
import { StoreCalls } from "./calls.ts";
import { readSearchIndex, SEARCH_TYPE } from "./search-index.ts";
import type { SourceEntry } from "./source.ts";

const FILE_MODE = 0o600;
const DRAFT_SUFFIX = ".unfinished";
const PAGE_KEYS = 200;
/** Types of values in dumps that redis-server 7.0 does not know: hashes whose fields expire. */
const EXPIRING_HASH = 24;

/** Rejects with a `StartRefusal`. */
export async function exportStore(call: CommandCall): Promise<0> {
  const [place = ""] = call.operands;
  const path = resolve(place);
  const replaces = call.options.has("replace");
  for (const each of [path, documentsPath(path)]) assertOutputFile(each, { place, replaces });
  const target = await openTarget({ run: call.run, version: call.version, isMade: false });
  try {
    const calls = new StoreCalls(target.client("store", call.options.get("database")));
    const progress = progressOf(call.run, { unit: "keys", tellsTimeLeft: true });
    const { keyCount, documentCount } = await writeFiles(path, calls, progress).finally(() => progress.end());
    call.print(`${keyCount} keys written to ${place}, which redis-server 7.0 and later load`);
    if (documentCount > 0) {
      call.print(
        `${documentCount} keys written to ${documentsPath(place)}: JSON documents, hashes whose fields expire and search indexes, which a plain redis-server 7.0 cannot hold; larder import ${place} reads both files`,
      );
    }
    return 0;
  } catch (fault) {
    throw codeOf(fault) === undefined ? fault : new StartRefusal(`${place} cannot be written (${codeOf(fault)})`);
  } finally {
    await target.close();
  }
}

interface Written {
  readonly keyCount: number;
  readonly documentCount: number;
}

async function writeFiles(path: string, calls: StoreCalls, progress: Progress): Promise<Written> {
  const main = await Draft.open(path);
  const documents = await Draft.open(documentsPath(path));
  try {
    const written = await writeEntries({ main, documents, calls, progress });
    await main.keep(); // keeps (2)
    if (written.documentCount > 0) await documents.keep();
    else await documents.replaceByNothing();
    return written;
  } finally {
    await main.drop();
    await documents.drop();
  }
}

interface Writing {
  readonly main: Draft;
  readonly documents: Draft;
  readonly calls: StoreCalls;
  readonly progress: Progress;
}

async function writeEntries({ main, documents, calls, progress }: Writing): Promise<Written> {
  const size = Number(await calls.call(["DBSIZE"]));
  const libraries = await calls.call(["FUNCTION", "DUMP"]);
  if (typeof libraries !== "string") throw new StartRefusal("FUNCTION DUMP did not return a dump");
  const writer = new RdbWriter((bytes) => main.write(bytes));
  const facts = { redisVersion: REDIS_VERSION, nowMs: systemClock.nowMs(), keyCount: size, expiringCount: 0 };
  await writer.begin(facts, Buffer.from(libraries, "latin1"));
  progress.expect(size);
  let keyCount = 0;
  let documentCount = 0;
  for await (const page of pages(calls)) {
    const lines: string[] = [];
    for (const entry of page) {
      const { key, atMs, value } = entry;
      if (value.kind === "dump" && value.payload.charCodeAt(0) < EXPIRING_HASH) {
        await writer.key(key, { atMs, payload: bufferFrom(value.payload) });
        keyCount += 1;
      } else lines.push(printDocument(entry), "\n");
    }
    if (lines.length > 0) await documents.write(Buffer.from(lines.join("")));
    documentCount += lines.length / 2;
    progress.add(page.length);
  }
  await writer.end();
  return { keyCount, documentCount };
}

/** The keys of each page of SCAN that still exist, with their values. */
async function* pages(calls: StoreCalls): AsyncIterable<readonly SourceEntry[]> {
  let cursor = "0";
  do {
    const reply = await calls.call(["SCAN", cursor, "COUNT", `${PAGE_KEYS}`]);
    const [next, keys] = Array.isArray(reply) ? (reply as readonly RespReply[]) : [];
    if (typeof next !== "string" || !Array.isArray(keys)) throw new StartRefusal("SCAN did not return a page");
    cursor = next;
    yield await readKeys(
      calls,
      keys.filter((key) => typeof key === "string"),
    );
  } while (cursor !== "0");
}

async function readKeys(calls: StoreCalls, keys: readonly Bytes[]): Promise<readonly SourceEntry[]> {
  // Value and expiry of a key are read together.
  const replies = await calls.pipeline(
    keys.flatMap((key) => [
      ["PEXPIRETIME", key],
      ["DUMP", key],
    ]),
  );
  const entries: SourceEntry[] = [];
  for (const [index, key] of keys.entries()) {
    const time = replies[2 * index];
    const dump = replies[2 * index + 1];
    const atMs = typeof time === "number" && time >= 0 ? time : undefined;
    if (typeof dump === "string") {
      entries.push({ key, atMs, value: { kind: "dump", payload: dump } });
    } else if (dump instanceof ReplyError) {
      const [text = null, type] = await calls.pipeline([
        ["JSON.GET", key],
        ["TYPE", key],
      ]);
      if (type === SEARCH_TYPE) {
        const index = await readSearchIndex((commands) => calls.pipeline(commands), key);
        if (index instanceof ReplyError) throw new StartRefusal(`${JSON.stringify(key)}: ${index.text}`);
        if (index !== undefined) entries.push({ key, atMs: undefined, value: index });
        continue;
      }
      // A value that is not a document is too large to be dumped.
      if (text instanceof ReplyError) throw new StartRefusal(`${JSON.stringify(key)}: ${dump.text}`);
      if (typeof text === "string") entries.push({ key, atMs, value: { kind: "document", text } });
    }
  }
  return entries;
}

/** A file that is being written, under another name until it is complete. */
class Draft {
  readonly #path: string;
  readonly #file: FileHandle;
  #isOpen = true;

  constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  static async open(path: string): Promise<Draft> {
    await rm(`${path}${DRAFT_SUFFIX}`, { force: true });
    return new Draft(path, await open(`${path}${DRAFT_SUFFIX}`, "wx", FILE_MODE));
  }

  async write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten;
  }

  async keep(): Promise<void> {
    await this.#file.sync();
    await this.#close();
    await rename(`${this.#path}${DRAFT_SUFFIX}`, this.#path);
  }

  /** An older file of the name has entries that no longer exist. */
  async replaceByNothing(): Promise<void> {
    await this.drop();
    await rm(this.#path, { force: true });
  }

  async drop(): Promise<void> {
    if (!this.#isOpen) return;
    await this.#close();
    await rm(`${this.#path}${DRAFT_SUFFIX}`, { force: true });
  }

  async #close(): Promise<void> {
    this.#isOpen = false;
    await this.#file.close();
  }
}
