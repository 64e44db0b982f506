/**
 * `larder import <source>`: copies the keys and functions of another store into a
 * database. The operand selects the kind of source:
 *
 *     redis://… rediss://…     a running Redis server
 *     http://… https://…       a hosted store, over its HTTP interface
 *     anything else            a Redis file (RDB)
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { CommandCall } from "../../program/cli/command-row.ts";
import { progressOf } from "../../program/cli/progress.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { TOKENS_FILE } from "../../program/tenants/stored-tokens.ts";
import { AreaClient } from "../area-client.ts";
import { HostedSource } from "../hosted/source.ts";
import { parseRedisAddress } from "../redis/connection.ts";
import { openRdbSource } from "../redis/rdb-source.ts";
import { RedisSource } from "../redis/source.ts";
import { isAddress, readSourceAddress, SOURCE_TOKEN } from "../source-address.ts";
import { openTarget, type Target } from "../target.ts";
import { StoreCalls } from "./calls.ts";
import { type Outcome, outcomes, StoreSink, type StoreSinkOptions } from "./sink.ts";
import type { SourceBatch, StoreSource } from "./source.ts";
import { type StoreState, StoreStateFile } from "./state.ts";

/** How many refused or different keys are named. */
const TROUBLES_SHOWN_MAX = 20;
const KEY_SHOWN_LENGTH_MAX = 80;
/** So that the server stores one while another is compared here. */
const BATCHES_AT_ONCE = 2;

/** If the environment or the configuration sets every token, the file of tokens is not created. */
function newDirectoryLine(directory: string): string {
  const tokens = existsSync(join(directory, TOKENS_FILE)) ? "; its tokens are in tokens.json there" : "";
  return `${directory} is a new data directory${tokens}`;
}

/** Resolves with 1 if it is done and some keys are refused or differ. Rejects with a `StartRefusal`. */
export async function importStore(call: CommandCall): Promise<0 | 1> {
  const source = await sourceOf(call, systemClock);
  try {
    const { keyCount, remarks } = await source.open();
    for (const remark of remarks) call.print(`${source.name}: ${remark}`);
    const target = await openTarget({ run: call.run, version: call.version, isMade: true });
    if (target.isNew) call.print(newDirectoryLine(target.directory));
    try {
      return await run(call, { source, target, keyCount });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function sourceOf(call: CommandCall, clock: Clock): Promise<StoreSource> {
  const [place = ""] = call.operands;
  const { options } = call;
  const database = databaseNumber(options.get("source database"));
  if (!/^rediss?:\/\//i.test(place) && !isAddress(place)) return openRdbSource({ path: place, database });
  if (database !== undefined)
    throw new StartRefusal("--source-database is for files: the address of a server ends with its database", 2);
  if (isAddress(place)) {
    const address = readSourceAddress(place, undefined, call);
    if (address === undefined) throw new StartRefusal("The address of the source is not a URL", 2);
    return new HostedSource(new AreaClient({ ...address, clock }), clock);
  }
  return new RedisSource(parseRedisAddress(place, options.get(SOURCE_TOKEN)), clock);
}

function databaseNumber(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,6}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new StartRefusal(`--source-database: ${JSON.stringify(text)} is not a database number`, 2);
}

interface Both {
  readonly source: StoreSource;
  readonly target: Target;
  readonly keyCount: number | undefined;
}

async function run(call: CommandCall, { source, target, keyCount }: Both): Promise<0 | 1> {
  const { options, print } = call;
  const given = options.get("database");
  const calls = new StoreCalls(target.client("store", given));
  const database = given ?? target.tenants.databases[0]?.name ?? "";
  const troubles: string[] = [];
  // Each batch has a sink of its own, so that a stored position has exactly the counts before it.
  const sinkOptions: StoreSinkOptions = {
    calls,
    clock: systemClock,
    replaces: options.has("replace"),
    requestBytesMax: target.requestBytesMax,
    onTrouble(key, reason) {
      if (troubles.length < TROUBLES_SHOWN_MAX) troubles.push(`${printKey(key)}: ${reason}`);
    },
  };
  const state = new StoreStateFile(target.directory, systemClock);
  const subject = { source: source.identity, database };
  const before = options.has("resume") ? positionBefore(state.read(subject), { source, print }) : undefined;
  const counts = new Map<Outcome, number>(outcomes.map((outcome) => [outcome, before?.counts.get(outcome) ?? 0]));
  let hasWritten = false;

  const libraries = await source.readLibraries();
  if (libraries.remark !== undefined) print(`${source.name}: ${libraries.remark}`);
  const functions = await new StoreSink(sinkOptions).storeLibraries(libraries.codes);
  const progress = progressOf(call.run, { unit: "keys", tellsTimeLeft: true });
  progress.expect(keyCount, sumOf(counts));
  try {
    await storeBatches(source.batches(before?.position), {
      // With --replace a key that comes twice must not be overwritten between its RESTORE and its DUMP.
      atOnce: options.has("replace") ? 1 : BATCHES_AT_ONCE,
      async store({ entries }) {
        const sink = new StoreSink(sinkOptions);
        try {
          return await sink.store(entries);
        } finally {
          hasWritten ||= sink.hasWritten;
        }
      },
      async onStored({ entries, position }, found) {
        for (const [outcome, count] of found) counts.set(outcome, (counts.get(outcome) ?? 0) + count);
        progress.add(entries.length);
        await state.note({ ...subject, position, counts: new Map(counts) });
      },
    });
  } catch (fault) {
    progress.end();
    if (!(fault instanceof StartRefusal) || (sumOf(counts) === 0 && !hasWritten)) throw fault;
    await state.flush();
    const way = state.isKept ? "with --resume to continue" : "again";
    throw new StartRefusal(`${fault.message}\nThe stored keys stay; run the same command ${way}`, fault.exitCode, {
      cause: fault,
    });
  }
  progress.end();
  state.remove();

  const size = await calls.call(["DBSIZE"]);
  for (const line of reportLines(counts, { database, size: Number(size) })) print(line);
  if (libraries.codes.length > 0)
    print(
      `libraries of functions: ${functions.stored} stored, ${functions.kept} already existed, ${functions.refused} refused`,
    );
  for (const trouble of troubles) print(`problem: ${trouble}`);
  const isRight = functions.refused + (counts.get("refused") ?? 0) + (counts.get("different") ?? 0) === 0;
  return isRight ? 0 : 1;
}

/** Undefined: the position is no longer one of the source. */
function positionBefore(
  state: StoreState,
  { source, print }: { source: StoreSource; print: CommandCall["print"] },
): StoreState | undefined {
  if (source.continuesAt(state.position)) return state;
  print(`${source.name}: it has started again since the interruption, so all keys are read again`);
  return undefined;
}

type Counts = ReadonlyMap<Outcome, number>;

interface Storing {
  /** How many batches are stored at the same time. */
  readonly atOnce: number;
  readonly store: (batch: SourceBatch) => Promise<Counts>;
  /** Called in the order of the batches, each after all before it are stored. */
  readonly onStored: (batch: SourceBatch, counts: Counts) => Promise<void>;
}

/** Stores batches while the source reads the next one. Rejects when nothing is under way any more. */
async function storeBatches(batches: AsyncIterable<SourceBatch>, { atOnce, store, onStored }: Storing): Promise<void> {
  const storeAfter = async (before: Promise<void>, batch: SourceBatch): Promise<void> => {
    const [earlier, own] = await Promise.allSettled([before, store(batch)]);
    if (earlier.status === "rejected") throw earlier.reason;
    if (own.status === "rejected") throw own.reason;
    await onStored(batch, own.value);
  };
  const storing: Promise<void>[] = [];
  let last = Promise.resolve();
  try {
    for await (const batch of batches) {
      if (storing.length === atOnce) await storing.shift();
      last = storeAfter(last, batch);
      // Its failure is reported after the source has read the next batch.
      last.catch(() => {});
      storing.push(last);
    }
  } finally {
    await last;
  }
}

/** One line for each outcome with keys. */
const meanings: Readonly<Record<Outcome, string>> = {
  stored: "stored, and compared with what was read: type, content and expiry agree",
  same: "already existed with the same content and expiry",
  kept: "already existed with another content or expiry and were left unchanged (--replace overwrites them)",
  expired: "had expired",
  refused: "could not be stored",
  different: "were stored but read back differently: another client changed them, or larder has a bug",
};

function reportLines(counts: Counts, { database, size }: { database: string; size: number }): readonly string[] {
  const lines = [`${sumOf(counts)} keys read; the database ${database} has ${size} keys now`];
  for (const [outcome, count] of counts) if (count > 0) lines.push(`${count} keys ${meanings[outcome]}`);
  return lines;
}

function sumOf(counts: Counts): number {
  return counts.values().reduce((sum, count) => sum + count, 0);
}

/** A key in readable form, without control characters for a terminal. */
function printKey(key: string): string {
  const shown = key.length > KEY_SHOWN_LENGTH_MAX ? `${key.slice(0, KEY_SHOWN_LENGTH_MAX)}…` : key;
  return JSON.stringify(shown).replace(/[\u007f-\u00ff]/g, (char) => `\\x${char.charCodeAt(0).toString(16)}`);
}
