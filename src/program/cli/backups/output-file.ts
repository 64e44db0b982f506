/**
 * The output file that a user names for a command.
 *
 * (1) An existing file is replaced only if the user says so.
 * (2) A device or a pipe is never replaced by a file, even if root runs the command.
 */
import { lstatSync, type Stats, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { StartRefusal } from "../../refusal.ts";

/** The operand that means standard output. */
export const STANDARD_OUTPUT = "-";

const REPLACE_FLAG = "--replace";

export type OutputKind = "file" | "stream";

/**
 * The kind of output that a path is: a file that is created or replaced as a whole, or a stream of bytes. Throws a
 * `StartRefusal`.
 */
export function outputKindOf(path: string, { replaces }: { readonly replaces: boolean }): OutputKind {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return "file";
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts?.isDirectory() === true) throw new StartRefusal(`${path} is a directory: name a file`);
  if (facts === undefined || facts.isFile()) {
    // A dangling link exists too.
    if (replaces) return "file";
    throw new StartRefusal(`${path} already exists: name another file, or replace it with ${REPLACE_FLAG}`); // keeps (1)
  }
  if (isStream(facts)) return "stream";
  throw new StartRefusal(`${path} is not a file: name another one`); // keeps (2)
}

/** Checks the output of a command that writes only files. `place` is the user's operand for the file at `path`. */
export function assertOutputFile(
  path: string,
  { place, replaces }: { readonly place: string; readonly replaces: boolean },
): void {
  if (place === STANDARD_OUTPUT) {
    throw new StartRefusal(
      `An export cannot go to standard output: name a file (./${STANDARD_OUTPUT} is a file of that name)`,
    );
  }
  if (outputKindOf(path, { replaces }) === "stream") throw new StartRefusal(`${path} is not a file: name another one`);
}

/** Resolves when it no longer needs the bytes, which may be changed then. */
export type ByteSink = (bytes: Uint8Array) => Promise<void>;

/** Writes to an existing device or pipe. Rejects with the system's error. */
export async function writeToDevice<Result>(path: string, write: (sink: ByteSink) => Promise<Result>): Promise<Result> {
  const file = await open(path, "w");
  try {
    return await write(async (bytes) => {
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at, null)).bytesWritten;
    });
  } finally {
    await file.close();
  }
}

/** Writes to standard output. Rejects with a `StartRefusal` if it is a terminal, or with the system's error. */
export async function writeToStandardOutput<Result>(write: (sink: ByteSink) => Promise<Result>): Promise<Result> {
  const { stdout } = process;
  if (stdout.isTTY) {
    throw new StartRefusal("Standard output is a terminal: redirect it to a file or a program, or name a file");
  }
  // Each write reports its failure; without a listener the error would end the process.
  const ignore = (): void => {};
  stdout.on("error", ignore);
  return write(
    (bytes) =>
      new Promise<void>((resolve, reject) => {
        stdout.write(bytes, (fault) => (fault ? reject(fault) : resolve()));
      }),
  );
}

function isStream(facts: Stats): boolean {
  return facts.isFIFO() || facts.isCharacterDevice();
}
