/**
 * Who changed what: `audit.log` in the data directory, one JSON line for each
 * administrative change and for each start and stop. It is only ever appended
 * to, and readable by its owner alone.
 *
 *     {"time":"2026-…Z","action":"databases.create","subject":"second","caller":"127.0.0.1","outcome":"done"}
 *
 * (1) A line never holds a token: it has names, addresses and words of ours.
 * (2) A line is on the disk before the change is answered.
 * (3) The file is opened for each line, so whoever renames it begins a new one.
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
/** Names are shorter; whatever else was sent as one is cut. */
const SUBJECT_LENGTH_MAX = 100;

/** Who is named where no address is. */
const COMMAND_LINE = "command line";
export const SERVER = "server";

export interface AuditEntry {
  /** Such as `databases.create`, `backup` or `start`. */
  readonly action: string;
  /** The tenant or file that it was about. */
  readonly subject?: string | undefined;
  /** An address, or `COMMAND_LINE` or `SERVER`. */
  readonly caller: string;
  readonly outcome: "done" | "refused" | "failed";
  /** Why not, in words of ours. */
  readonly reason?: string | undefined;
}

export interface AuditLog {
  note(entry: AuditEntry): void;
}

/** `dataDirectory`: where the file is; undefined: nothing is kept, and nothing noted. */
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
        // What was changed is changed: who keeps the log has to know that a line is missing.
        log.error("the audit log cannot be written", { action: entry.action, ...faultFields(fault) });
      }
    },
  };
}

/** Notes what a command has done in a data directory that no server uses. */
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
