/**
 * Reads the audit log from its end: `audit.log`, and files that a rotation has
 * renamed, such as `audit.log.1` or `audit.log-20260131`. Compressed ones are not
 * read.
 *
 * (1) A call reads at most `READ_BYTES_MAX` bytes of lines, whatever the size of
 *     the log: a page may have fewer entries than asked for, or none, and a cursor.
 *     It reads them in blocks, and the thread is free between two of them.
 * (2) A cursor is the place before which the next page begins: a file, known by its
 *     first bytes, which a rename keeps, and a position in it. New lines do not move
 *     it. If the file is gone, the cursor is refused.
 * (3) A line that is no entry is counted, never skipped silently.
 */
import { hash } from "node:crypto";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  AUDIT_PAGE_DEFAULT,
  type AuditedEntry,
  type AuditPage,
  type AuditQuery,
  auditOutcomes,
} from "../../edge/admin/audit.ts";
import { auditCursorUnknown } from "../../edge/errors.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { codeOf } from "../refusal.ts";
import { AUDIT_FILE } from "./audit-log.ts";

export const READ_BYTES_MAX = 262_144;
const BLOCK_BYTES = 16_384;
/** The newest rotated files. */
const FILES_MAX = 100;
const ROTATED = /^audit\.log[.-]\d[\dT:.-]*$/;
/** The first line has its time, so the first bytes of two files differ. */
const ID_BYTES = 512;
const ID_LENGTH = 16;
const CURSOR = /^([\da-f]{16})-(\d{1,15})$/;
/** A clock that was set back does not end a list too early. */
const CLOCK_STEP_MS_MAX = 86_400_000;
const NEWLINE = 10;

/** Rejects with a `RequestFailure` for a cursor that leads nowhere. */
export async function readAudit(dataDirectory: string, query: AuditQuery): Promise<AuditPage> {
  const paths = await logPaths(dataDirectory);
  const place = query.cursor === undefined ? { index: 0 } : await placeOf(paths, query.cursor);
  const page = new Page(query);
  for (let { index, position } = place; index < paths.length && !page.isFull; index += 1, position = undefined)
    await page.readFile(paths[index] ?? "", { position, isLast: index === paths.length - 1 });
  return page.answer;
}

interface Place {
  /** Of the file. */
  readonly index: number;
  /** The end of what is not read yet; absent: that of the file. */
  readonly position?: number | undefined;
}

/** The newest file first. */
async function logPaths(dataDirectory: string): Promise<readonly string[]> {
  const names = (await readdir(dataDirectory)).filter((name) => ROTATED.test(name));
  const rotated = await Promise.all(
    names.map(async (name) => {
      const path = join(dataDirectory, name);
      return { path, changedMs: (await stat(path)).mtimeMs };
    }),
  );
  const sorted = rotated.toSorted((one, other) => other.changedMs - one.changedMs || (one.path < other.path ? -1 : 1));
  return [join(dataDirectory, AUDIT_FILE), ...sorted.slice(0, FILES_MAX).map(({ path }) => path)];
}

/** keeps (2) */
async function placeOf(paths: readonly string[], cursor: string): Promise<Place> {
  const [, id, position = ""] = CURSOR.exec(cursor) ?? [];
  for (const [index, path] of paths.entries()) {
    if (id === undefined) break;
    await using file = await openIfThere(path);
    if (file === undefined || (await idOf(file)) !== id) continue;
    if ((await file.stat()).size < Number(position)) break;
    return { index, position: Number(position) };
  }
  throw auditCursorUnknown;
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (fault) {
    // A rotation has just renamed it, or nothing was noted yet.
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault;
  }
}

async function idOf(file: FileHandle): Promise<string> {
  const first = await read(file, 0, ID_BYTES);
  const end = first.indexOf(NEWLINE);
  return hash("sha256", end < 0 ? first : first.subarray(0, end), "hex").slice(0, ID_LENGTH);
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytes.subarray(0, bytesRead);
}

/** The entries found so far, and the rest of the work. */
class Page {
  readonly #query: AuditQuery;
  readonly #entries: AuditedEntry[] = [];
  #unreadableLines = 0;
  #bytesLeft = READ_BYTES_MAX;
  #cursor: string | undefined;
  #isOver = false;
  /** The blocks after this place are the rest of a line that is counted already. */
  #isInLongLine = false;

  constructor(query: AuditQuery) {
    this.#query = query;
  }

  get isFull(): boolean {
    return this.#isOver || this.#cursor !== undefined;
  }

  get answer(): AuditPage {
    return {
      entries: this.#entries,
      unreadableLines: this.#unreadableLines,
      ...(this.#cursor !== undefined && !this.#isOver && { cursor: this.#cursor }),
    };
  }

  /** Reads backwards from a position until the page is full or the file has nothing before it. keeps (1) */
  async readFile(path: string, { position, isLast }: { position: number | undefined; isLast: boolean }): Promise<void> {
    await using file = await openIfThere(path);
    if (file === undefined) return;
    let stop = position ?? (await file.stat()).size;
    while (stop > 0 && this.#bytesLeft > 0 && !this.#isComplete && !this.#isOver) {
      const length = Math.min(stop, BLOCK_BYTES, this.#bytesLeft);
      const bytes = await read(file, stop - length, length);
      this.#bytesLeft -= length;
      stop += this.#takeLines(bytes, { isWhole: stop === length }) - length;
    }
    if (stop > 0 || (!isLast && (this.#isComplete || this.#bytesLeft === 0)))
      this.#cursor = `${await idOf(file)}-${stop}`;
  }

  get #isComplete(): boolean {
    return this.#entries.length >= (this.#query.count ?? AUDIT_PAGE_DEFAULT);
  }

  /** Takes lines from the end of a block, and returns how many bytes of it are left for the next page. */
  #takeLines(bytes: Buffer, { isWhole }: { isWhole: boolean }): number {
    let end = bytes.length;
    while (end > 0 && !this.#isComplete && !this.#isOver) {
      const last = bytes[end - 1] === NEWLINE ? end - 1 : end;
      const before = last === 0 ? -1 : bytes.lastIndexOf(NEWLINE, last - 1);
      if (before < 0 && !isWhole) {
        // The line begins before the block. One that is longer than a whole block is no entry.
        if (end < bytes.length || bytes.length < BLOCK_BYTES) return end;
        if (!this.#isInLongLine) this.#unreadableLines += 1;
        this.#isInLongLine = true;
        return 0;
      }
      if (this.#isInLongLine) this.#isInLongLine = false;
      else this.#takeLine(bytes.toString("utf8", before + 1, last));
      end = before + 1;
    }
    return end;
  }

  /** keeps (3) */
  #takeLine(line: string): void {
    const entry = entryIn(line);
    if (entry === undefined) {
      this.#unreadableLines += 1;
      return;
    }
    const { action, subject, outcome, from, to } = this.#query;
    const atMs = Date.parse(entry.time);
    if (from !== undefined && atMs < from - CLOCK_STEP_MS_MAX) this.#isOver = true;
    const isWanted =
      (action === undefined || entry.action.startsWith(action)) &&
      (subject === undefined || entry.subject === subject) &&
      (outcome === undefined || entry.outcome === outcome) &&
      (from === undefined || atMs >= from) &&
      (to === undefined || atMs < to);
    if (isWanted) this.#entries.push(entry);
  }
}

function entryIn(line: string): AuditedEntry | undefined {
  let value: unknown;
  try {
    value = parseJsonText(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { time, action, subject, caller, outcome, reason } = value as Readonly<Record<string, unknown>>;
  const known = auditOutcomes.find((each) => each === outcome);
  if (typeof time !== "string" || Number.isNaN(Date.parse(time)) || known === undefined) return undefined;
  if (typeof action !== "string" || typeof caller !== "string") return undefined;
  return {
    ...{ time, action },
    ...(typeof subject === "string" && { subject }),
    ...{ caller, outcome: known },
    ...(typeof reason === "string" && { reason }),
  };
}
