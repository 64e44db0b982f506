/**
 * `larder promote [dir]`: asks the process that follows to serve, and waits until it is
 * ready. If nothing follows, it makes a data directory of the directory by itself.
 */
import { existsSync } from "node:fs";
import { systemClock } from "../../../kernel/clock.ts";
import { secretText } from "../../../kernel/random.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { DirectoryInUse } from "../../../persistence/errors.ts";
import { Follower } from "../../../replication/follow/follower.ts";
import { type FollowRecord, readRecord } from "../../../replication/follow/record.ts";
import { isUsedDirectory } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { directoryRefusal, StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { formatFor, stderrLog } from "../../stderr.ts";
import { noteFromCommandLine } from "../../tenants/audit-log.ts";
import { readStatus, statusLines } from "../administer/status.ts";
import { reportBytes } from "../progress.ts";
import { isDirectoryInUse } from "../running-server.ts";
import { refusalText } from "./follow.ts";
import { followedPath, nameOf, openFollowed, promoteFollowed } from "./followed-directory.ts";
import {
  assertPromotionFiles,
  type PromotionAnswer,
  readAnswer,
  removePromotionFiles,
  writeRequest,
} from "./promotion-files.ts";

export interface PromoteOptions {
  /** How long the last reading of the store may take; 0: it is not read. */
  readonly withinMs: number;
  readonly print: (line: string) => void;
}

const LOOK_MS = 200;
/** Of looks, how many pass between two that try the lock. */
const LOOKS_PER_LOCK = 10;
const ID_DIGITS = 16;

/** Rejects with a `StartRefusal`. */
export async function promote(run: RunSettings, { withinMs, print }: PromoteOptions): Promise<void> {
  const directory = followedPath(run);
  try {
    const record = existsSync(directory) ? await readRecord(fileDisk, directory) : undefined;
    if (isUsedDirectory(directory))
      throw new StartRefusal(`${directory} is a data directory already: start larder serve --data-dir ${directory}`);
    if (record === undefined)
      throw new StartRefusal(`${directory} does not follow a copy: larder follow makes and updates such a directory`);
    assertPromotionFiles(directory);
    const lock = await lockIfFree(directory);
    if (lock === undefined) await askFollower(run, { directory, withinMs, print });
    else await promoteHere(run, { directory, record, lock, withinMs, print });
  } catch (fault) {
    throw directoryRefusal(fault, directory, run.origins.dataDirectory.place);
  }
}

async function lockIfFree(directory: string): Promise<DirectoryLock | undefined> {
  try {
    return await lockDirectory(directory);
  } catch (fault) {
    if (fault instanceof DirectoryInUse) return undefined;
    throw fault;
  }
}

interface Promotion extends PromoteOptions {
  readonly directory: string;
}

async function askFollower(run: RunSettings, { directory, withinMs, print }: Promotion): Promise<void> {
  const id = secretText(ID_DIGITS);
  writeRequest(directory, { id, withinMs });
  const answer = await untilAnswered(directory, id);
  removePromotionFiles(directory);
  if (answer.outcome === "refused") throw new StartRefusal(answer.lines.join("\n"));
  for (const line of answer.lines) print(line);
  for (;;) {
    await pause(LOOK_MS);
    // Until its admin port is open, the server does not answer.
    const status = await readStatus(run).catch((fault: unknown) => {
      if (fault instanceof StartRefusal) return undefined;
      throw fault;
    });
    if (status?.state === "not running")
      throw new StartRefusal(
        `${directory} is a data directory now, but the process that followed has ended without serving it: its log says why. Start larder serve --data-dir ${directory}`,
      );
    if (status?.state !== "ready") continue;
    for (const line of statusLines(status)) print(line);
    return;
  }
}

async function untilAnswered(directory: string, id: string): Promise<PromotionAnswer> {
  for (let looks = 1; ; looks += 1) {
    const answer = readAnswer(directory, id);
    if (answer !== undefined) return answer;
    if (looks % LOOKS_PER_LOCK === 0 && !(await isDirectoryInUse(directory))) {
      removePromotionFiles(directory);
      throw new StartRefusal(`The process that followed in ${directory} has ended: run larder promote again`);
    }
    await pause(LOOK_MS);
  }
}

async function promoteHere(
  run: RunSettings,
  { directory, record: found, lock, withinMs, print }: Promotion & { record: FollowRecord; lock: DirectoryLock },
): Promise<void> {
  let record = found;
  try {
    removePromotionFiles(directory);
    if (withinMs > 0) record = await fetchLast(run, { directory, record, withinMs });
    const lines = await reportBytes(run, (onBytes) => promoteFollowed(directory, record, onBytes));
    noteFromCommandLine(run, "promote", nameOf(record));
    for (const line of lines) print(line);
    print(`start it with: larder serve --data-dir ${directory}`);
  } catch (fault) {
    const reason = refusalText(fault, record.areas);
    if (reason === undefined) throw fault;
    throw new StartRefusal(reason, 1, { cause: fault });
  } finally {
    lock.release();
  }
}

async function fetchLast(
  run: RunSettings,
  { directory, record, withinMs }: { directory: string; record: FollowRecord; withinMs: number },
): Promise<FollowRecord> {
  return reportBytes(run, async (onBytes) => {
    const { store, copy } = await openFollowed(run, { address: record.address, directory, onBytes });
    try {
      const log = stderrLog(run.settings.logLevel, formatFor(run.settings.logFormat));
      await new Follower({ copy, store, clock: systemClock, log, intervalMs: LOOK_MS }).finish(withinMs);
      return copy.record;
    } finally {
      await store.close();
    }
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}
