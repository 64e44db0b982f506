/**
 * A file that the user names for what a command writes.
 *
 * (1) A file that is there is replaced only when the user says so.
 * (2) A device or a pipe is never replaced by a file, whoever runs the command.
 */
import { lstatSync, type Stats, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { StartRefusal } from "../refusal.ts";

/** The operand that stands for the standard output. */
export const STANDARD_OUTPUT = "-";

const REPLACE_FLAG = "--replace";

export type OutputKind = "file" | "stream";

/**
 * What a path is as a place to write to: a file that is made or replaced as a whole, or something that takes bytes one
 * after the other. Throws a `StartRefusal`.
 */
export function outputKindOf(path: string, { replaces }: { readonly replaces: boolean }): OutputKind {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return "file";
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts?.isDirectory() === true) throw new StartRefusal(`${path} is a directory: name a file`);
  if (facts === undefined || facts.isFile()) {
    // A link to nothing is something that is there as well.
    if (replaces) return "file";
    throw new StartRefusal(`${path} is there already: name another file, or replace it with ${REPLACE_FLAG}`); // keeps (1)
  }
  if (isStream(facts)) return "stream";
  throw new StartRefusal(`${path} is not a file: name another one`); // keeps (2)
}

/** For a command that writes files and no streams. `place` is the operand, as the user gave it, of the file at `path`. */
export function assertOutputFile(
  path: string,
  { place, replaces }: { readonly place: string; readonly replaces: boolean },
): void {
  if (place === STANDARD_OUTPUT) {
    throw new StartRefusal(
      `The standard output takes no export: name a file (./${STANDARD_OUTPUT} is one of that name)`,
    );
  }
  if (outputKindOf(path, { replaces }) === "stream") throw new StartRefusal(`${path} is not a file: name another one`);
}

/** Takes all of the bytes before it resolves, so that they may be changed then. */
export type ByteSink = (bytes: Uint8Array) => Promise<void>;

/** Writes to a device or a pipe that is there. Rejects with the system's error. */
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

/** Writes to the standard output. Rejects with a `StartRefusal` if it is a terminal, or with the system's error. */
export async function writeToStandardOutput<Result>(write: (sink: ByteSink) => Promise<Result>): Promise<Result> {
  const { stdout } = process;
  if (stdout.isTTY) {
    throw new StartRefusal(
      "The standard output is a terminal: send it to a file or to another program, or name a file",
    );
  }
  // Each write is told of its failure; without a listener the process would end by it.
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
