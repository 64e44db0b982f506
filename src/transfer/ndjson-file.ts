/**
 * Files with one JSON value per line, written and read in pieces, with the offset
 * of each line, so that writing and reading can continue after an interruption.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { otherKind } from "../persistence/disk/file-kind.ts";
import { NoText, textOf } from "../persistence/disk/text-file.ts";
import { codeOf, StartRefusal } from "../program/refusal.ts";

/** Only the owner: the file has data. */
const FILE_MODE = 0o600;
const PIECE_BYTES = 1024 * 1024;
/** Longer than any record. */
const LINE_BYTES_MAX = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

export class NdjsonWriter {
  readonly #file: FileHandle;
  #bytes: number;

  private constructor(file: FileHandle, bytes: number) {
    this.#file = file;
    this.#bytes = bytes;
  }

  /** Keeps the first `keptBytes` of an existing file, and continues after them; 0 begins a new file. */
  static async open(path: string, keptBytes: number): Promise<NdjsonWriter> {
    try {
      const file = await open(path, keptBytes === 0 ? "w" : "r+", FILE_MODE);
      const { size } = await file.stat();
      if (size < keptBytes) {
        await file.close();
        throw new StartRefusal(`${path} is shorter than before: start again without --resume`);
      }
      await file.truncate(keptBytes);
      return new NdjsonWriter(file, keptBytes);
    } catch (fault) {
      throw fileRefusal(fault, path);
    }
  }

  /** The offset after the last line. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Each is a text without a line break. */
  async write(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#bytes + at);
      at += bytesWritten;
    }
    this.#bytes += bytes.length;
  }

  /** Resolves when everything written is on disk. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

export interface Line {
  readonly text: string;
  /** The offset of the next line. */
  readonly end: number;
}

/** The lines of a file from an offset on, in lists of lines that were read together. Rejects with a `StartRefusal`. */
export async function* readLines(path: string, from: number): AsyncGenerator<readonly Line[]> {
  const file = await openFile(path);
  try {
    let rest: Buffer = Buffer.alloc(0);
    let start = from;
    for (let at = from; ; ) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const read = piece.subarray(0, bytesRead);
      // Only the new bytes are searched: a long line comes in many pieces.
      const isWhole = read.includes(NEWLINE);
      rest = rest.length === 0 ? read : Buffer.concat([rest, read]);
      if (rest.length > LINE_BYTES_MAX)
        throw new StartRefusal(`${path} has a line of more than ${LINE_BYTES_MAX} bytes`);
      if (!isWhole) continue;
      const lines: Line[] = [];
      let begin = 0;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, begin)) {
        lines.push({ text: textOf(rest.subarray(begin, end), { path, from: start + begin }), end: start + end + 1 });
        begin = end + 1;
      }
      rest = rest.subarray(begin);
      start += begin;
      yield lines;
    }
    if (rest.length > 0) yield [{ text: textOf(rest, { path, from: start }), end: start + rest.length }];
  } catch (fault) {
    throw fileRefusal(fault, path);
  } finally {
    await file.close();
  }
}

/** Opens a file that is read from more than one offset, which only a file can be. Rejects with a `StartRefusal`. */
async function openFile(path: string): Promise<FileHandle> {
  try {
    const what = otherKind(await stat(path));
    if (what !== undefined) throw new NoText(path, `is ${what}, not a file`);
    return await open(path, "r");
  } catch (fault) {
    throw fileRefusal(fault, path);
  }
}

/** The last line of a file, if it is at most `bytesMax` long and complete; undefined otherwise. */
export async function readLastLine(path: string, bytesMax: number): Promise<string | undefined> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, bytesMax + 1);
    const tail = Buffer.alloc(length);
    const { bytesRead } = await file.read(tail, 0, length, size - length);
    if (bytesRead !== length || tail.at(-1) !== NEWLINE) return undefined;
    const start = tail.lastIndexOf(NEWLINE, -2) + 1;
    return start === 0 && length < size ? undefined : tail.utf8Slice(start, length - 1);
  } catch (fault) {
    throw fileRefusal(fault, path);
  } finally {
    await file.close();
  }
}

/** The reason why a file cannot be used, as a refusal, or the fault itself if the reason is unknown. */
export function fileRefusal(fault: unknown, path: string): unknown {
  if (fault instanceof NoText) return new StartRefusal(fault.message, 1, { cause: fault });
  switch (codeOf(fault)) {
    case "ENOENT":
      return new StartRefusal(`File ${path} or its directory does not exist`);
    case "EACCES":
    case "EPERM":
      return new StartRefusal(`No permission to use ${path}`);
    case "EISDIR":
      return new StartRefusal(`${path} is a directory`);
    case "ENOSPC":
    case "EDQUOT":
      return new StartRefusal(`No space left for ${path}`);
    case "EROFS":
      return new StartRefusal(`${path} is on a read-only file system`);
    default:
      return fault;
  }
}
