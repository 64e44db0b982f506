/** Facts about the program and the machine that several parts of the start need. */
import { readFileSync } from "node:fs";
import { FORMAT } from "../persistence/journal/file-format.ts";
import { TOKENS_FORMAT } from "./tenants/stored-tokens.ts";

interface PackageFile {
  readonly version: string;
}

/** The version in package.json, two folders above this file both in a checkout and in the package. */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as PackageFile).version;
}

/** The entry of every thread, next to this folder both in a checkout and in the package. */
export const mainFile: URL = new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url);

/** The newest format of each kind of file that this version writes. */
export const fileFormats = { data: FORMAT, tokens: TOKENS_FORMAT } as const;
