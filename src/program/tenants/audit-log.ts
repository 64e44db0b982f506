/**
 * The audit log: `audit.log` in the data directory, one JSON line for each
 * administrative change and for each start and stop. It is append-only, and
 * readable only by its owner.
 *
 *     {"time":"2026-…Z","action":"databases.create","subject":"second","caller":"127.0.0.1","outcome":"done"}
 *
 * (1) A line never contains a token: it has names, addresses and fixed words.
 * (2) A line is on disk before the response to the change.
 * (3) The file is opened for each line, so renaming it starts a new file.
 */
import { closeSync, constants, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { formatFor, stderrLog } from "../stderr.ts";

export const AUDIT_FILE = "audit.log";
const FILE_MODE = 0o600;
const { O_APPEND, O_CREAT, O_WRONLY } = constants;
/** Valid names are shorter; longer texts are truncated. */
const SUBJECT_LENGTH_MAX = 100;

/** The caller of a command, which has no address. */
const COMMAND_LINE = "command line";
export const SERVER = "server";

export interface AuditEntry {
  /** Such as `databases.create`, `backup` or `start`. */
  readonly action: string;
  /** The tenant or file of the action. */
  readonly subject?: string | undefined;
  /** An address, or `COMMAND_LINE` or `SERVER`. */
  readonly caller: string;
  readonly outcome: "done" | "refused" | "failed";
  /** The reason of a failure, in fixed words. */
  readonly reason?: string | undefined;
}

export interface AuditLog {
  note(entry: AuditEntry): void;
}

/** `dataDirectory`: the directory of the file; undefined: nothing is stored, and nothing is noted. */
export function openAuditLog(
  dataDirectory: string | undefined,
  { clock, log }: { clock: Pick<Clock, "nowMs">; log: Log },
): AuditLog {
  if (dataDirectory === undefined) return { note: () => {} };
  const path = join(dataDirectory, AUDIT_FILE);
  return {
    note({ subject, ...entry }) {
      const time = new Date(clock.nowMs()).toISOString();
      const line = JSON.stringify({
        time,
        ...entry,
        ...(subject && { subject: subject.slice(0, SUBJECT_LENGTH_MAX) }),
      });
      try {
        append(path, `${line}\n`);
      } catch (fault) {
        // The change is done: the log says that a line is missing.
        log.error("the audit log cannot be written", { action: entry.action, ...faultFields(fault) });
      }
    },
  };
}

/** Notes the action of a command in a data directory that no server uses. */
export function noteFromCommandLine({ settings }: RunSettings, action: string, subject: string): void {
  const log = stderrLog(settings.logLevel, formatFor(settings.logFormat));
  const audit = openAuditLog(resolve(settings.dataDirectory ?? ""), { clock: systemClock, log });
  audit.note({ action, subject, caller: COMMAND_LINE, outcome: "done" });
}

/** keeps (2), (3) */
function append(path: string, line: string): void {
  const descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT, FILE_MODE);
  try {
    writeSync(descriptor, line);
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
