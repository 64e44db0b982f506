/**
 * Opens the history of a data directory, whatever state its file is in. The
 * journal is the source of truth: a file that is damaged, has another layout or
 * is ahead of its journal, or is no file, is moved aside, and the history is rebuilt from the
 * rest of the journal.
 */
import { closeSync, openSync, renameSync, rmSync } from "node:fs";
import type { Log } from "../../kernel/log.ts";
import { codeOf } from "../disk/disk.ts";
import { assertFileIfThere } from "../disk/file-kind.ts";
import { NotAFile } from "../errors.ts";
import { failureOf } from "./database.ts";
import type { Rewrite } from "./free-space.ts";
import { History, type HistoryOptions, OtherLayout } from "./history.ts";

export interface HistoryFile extends HistoryOptions {
  readonly path: string;
  readonly log: Log;
}

/** The files that SQLite keeps beside the database. */
const COMPANIONS = ["-wal", "-shm"];
/** The last file that was moved aside is kept for inspection. */
const ASIDE_SUFFIX = ".damaged";
/** Only the owner may read what users have sent. SQLite gives its other files the same mode. */
const FILE_MODE = 0o600;

/** Throws SQLite's errors that a new file would not fix: no space, no permission. */
export function openHistory(file: HistoryFile): History {
  try {
    return openOrMake(file);
  } catch (fault) {
    const isUsable = failureOf(fault) !== "damaged" && !(fault instanceof OtherLayout) && !(fault instanceof NotAFile);
    if (isUsable) throw fault;
    return replaceHistory(file, fault instanceof Error ? fault.message : String(fault));
  }
}

/** Moves aside a file that no connection has open for writing, and creates a new one. */
export function replaceHistory(file: HistoryFile, reason: string): History {
  const { path, log } = file;
  const aside = `${path}${ASIDE_SUFFIX}`;
  log.warn("rebuilding the history from the journal", { file: path, reason, movedTo: aside });
  for (const suffix of ["", ...COMPANIONS]) moveIfThere(`${path}${suffix}`, `${aside}${suffix}`);
  return openOrMake(file);
}

function openOrMake({ path, ...options }: HistoryFile): History {
  assertFileIfThere(path);
  closeSync(openSync(path, "a", FILE_MODE));
  const onRewritten = (rewrite: Rewrite): void => {
    options.log.info("rewrote the history file because it was mostly free", { file: path, ...rewrite });
  };
  return History.open(path, { ...options, onRewritten });
}

function moveIfThere(from: string, to: string): void {
  try {
    rmSync(to, { force: true, recursive: true });
    renameSync(from, to);
  } catch (fault) {
    if (codeOf(fault) !== "ENOENT") throw fault;
  }
}
