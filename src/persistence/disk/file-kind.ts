/**
 * What has the name of a file. A directory fails at the first read with an error
 * that names no path, and opening a pipe waits for its other end.
 */
import { type Stats, statSync } from "node:fs";
import { NotAFile } from "../errors.ts";
import { codeOf } from "./disk.ts";

const kinds: readonly (readonly [what: string, isIt: (facts: Stats) => boolean])[] = [
  ["a directory", (facts) => facts.isDirectory()],
  ["a pipe", (facts) => facts.isFIFO()],
  ["a socket", (facts) => facts.isSocket()],
  ["a device", (facts) => facts.isCharacterDevice() || facts.isBlockDevice()],
];

/** What this is in place of a file; undefined for a file. */
export function otherKind(facts: Stats): string | undefined {
  return kinds.find(([, isIt]) => isIt(facts))?.[0];
}

/** Throws `NotAFile` if something else has the name. Does nothing if nothing has it. */
export function assertFileIfThere(path: string): void {
  const what = kindAt(path);
  if (what !== undefined) throw new NotAFile(path, what);
}

function kindAt(path: string): string | undefined {
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    return facts === undefined ? undefined : otherKind(facts);
  } catch (fault) {
    if (codeOf(fault) === "ELOOP") return LOOP;
    throw fault;
  }
}

export const LOOP = "a symbolic link that leads back to itself";
