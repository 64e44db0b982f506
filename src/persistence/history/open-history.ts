/**
 * Opens the history of a data directory whatever state its file is in. The
 * journal is the truth: a file that is damaged, that has another layout, or
 * that is ahead of its journal is moved aside, and the history is derived anew
 * from what the journal still has.
 */
import { closeSync, openSync, renameSync, rmSync } from "node:fs";
import type { Log } from "../../kernel/log.ts";
import { codeOf } from "../disk/disk.ts";
import { failureOf } from "./database.ts";
import type { Rewrite } from "./free-space.ts";
import { History, type HistoryOptions, OtherLayout } from "./history.ts";

export interface HistoryFile extends HistoryOptions {
  readonly path: string;
  readonly log: Log;
}

/** What SQLite keeps beside its file. */
const COMPANIONS = ["-wal", "-shm"];
/** The last file that was moved aside is kept, for whoever wants to know why. */
const ASIDE_SUFFIX = ".damaged";
/** Only its owner reads what users have sent. SQLite gives its companions the same mode. */
const FILE_MODE = 0o600;

/** Throws SQLite's errors that a new file would not cure: no space, no permission. */
export function openHistory(file: HistoryFile): History {
  try {
    return openOrMake(file);
  } catch (fault) {
    if (failureOf(fault) !== "damaged" && !(fault instanceof OtherLayout)) throw fault;
    return replaceHistory(file, fault instanceof Error ? fault.message : String(fault));
  }
}

/** Moves the file aside, which nobody has open for writing any more, and makes a new one. */
export function replaceHistory(file: HistoryFile, reason: string): History {
  const { path, log } = file;
  const aside = `${path}${ASIDE_SUFFIX}`;
  log.warn("the history is derived anew from the journal", { file: path, reason, movedTo: aside });
  for (const suffix of ["", ...COMPANIONS]) moveIfThere(`${path}${suffix}`, `${aside}${suffix}`);
  return openOrMake(file);
}

function openOrMake({ path, ...options }: HistoryFile): History {
  closeSync(openSync(path, "a", FILE_MODE));
  const onRewritten = (rewrite: Rewrite): void => {
    options.log.info("the history's file was mostly free and was written once more", { file: path, ...rewrite });
  };
  return History.open(path, { ...options, onRewritten });
}

function moveIfThere(from: string, to: string): void {
  try {
    rmSync(to, { force: true });
    renameSync(from, to);
  } catch (fault) {
    if (codeOf(fault) !== "ENOENT") throw fault;
  }
}
