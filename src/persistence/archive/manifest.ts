/**
 * A backup file's description of itself, in its last two entries:
 *
 *     manifest.json      who wrote it and when, each area with its position, each file with its length and SHA-256
 *     manifest.sha256    the SHA-256 of manifest.json, as `sha256sum` prints it
 *
 * So every byte of a backup is covered: by a checksum, by the only valid form
 * of a header, or because it must be zero.
 */
import { createHash } from "node:crypto";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { isEntryName } from "./tar.ts";

/** The newest format of a backup file. */
export const BACKUP_FORMAT = 1;

export const MANIFEST_NAME = "manifest.json";
export const MANIFEST_SUM_NAME = "manifest.sha256";

export interface BackedUpFile {
  readonly name: string;
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
}

export interface BackedUpArea {
  readonly name: string;
  /** Frames since the area was created: the backup holds all of them. */
  readonly position: number;
}

export interface Manifest {
  /** The version of the program that wrote it. */
  readonly version: string;
  /** The format of the areas' files (`file-format.ts`). */
  readonly dataFormat: number;
  /** Wall-clock milliseconds. */
  readonly madeAtMs: number;
  readonly areas: readonly BackedUpArea[];
  readonly files: readonly BackedUpFile[];
}

/** Why this version cannot read a manifest. */
export class UnknownManifest extends Error {
  override name = "UnknownManifest";
  /** Set if the manifest has a newer format than this version knows. */
  readonly format: number | undefined;

  constructor(what: string, format?: number) {
    super(what);
    this.format = format;
  }
}

export function printManifest({ madeAtMs, ...manifest }: Manifest): string {
  const madeAt = new Date(madeAtMs).toISOString();
  return `${JSON.stringify({ format: BACKUP_FORMAT, madeAt, ...manifest }, null, 1)}\n`;
}

/** The text of `manifest.sha256`. */
export function printManifestSum(manifest: string | Buffer): string {
  return `${createHash("sha256").update(manifest).digest("hex")}  ${MANIFEST_NAME}\n`;
}

/** Parses a manifest whose checksum is correct. Throws `UnknownManifest`. */
export function parseManifest(text: string): Manifest {
  const fields = objectOf(parseJsonText(text), "it");
  const format = countOf(fields.get("format"), "format");
  if (format > BACKUP_FORMAT) throw new UnknownManifest(`its format is ${format}`, format);
  const manifest: Manifest = {
    version: textOf(fields.get("version"), "version"),
    dataFormat: countOf(fields.get("dataFormat"), "dataFormat"),
    madeAtMs: Date.parse(textOf(fields.get("madeAt"), "madeAt")),
    areas: listOf(fields.get("areas"), "areas").map((area) => {
      const of = objectOf(area, "an area");
      return { name: textOf(of.get("name"), "name"), position: countOf(of.get("position"), "position") };
    }),
    files: listOf(fields.get("files"), "files").map((file) => {
      const of = objectOf(file, "a file");
      const name = textOf(of.get("name"), "name");
      if (!isEntryName(name)) throw new UnknownManifest("a file has an invalid name");
      return { name, bytes: countOf(of.get("bytes"), "bytes"), sha256: textOf(of.get("sha256"), "sha256") };
    }),
  };
  return manifest;
}

function objectOf(value: unknown, what: string): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null) throw new UnknownManifest(`${what} is not an object`);
  return new Map(Object.entries(value));
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new UnknownManifest(`${what} is not an array`);
  return value;
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== "string") throw new UnknownManifest(`${what} is not a string`);
  return value;
}

function countOf(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new UnknownManifest(`${what} is not a count`);
  }
  return value;
}
