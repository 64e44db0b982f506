/** Facts about the program and the machine that several parts of the start need. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { FORMAT } from "../persistence/journal/file-format.ts";
import { TOKENS_FORMAT } from "./tenants/stored-tokens.ts";

interface PackageFile {
  readonly name: string;
  readonly version: string;
}

/** The name on npm; the commands are `larder` and `larderd`. */
export const PACKAGE_NAME = "larderd";

/** The folder with our package.json, with a slash at the end, above this file both in a checkout and in the package. */
export const packageRoot: URL = findPackageRoot();

function findPackageRoot(): URL {
  let folder = new URL(".", import.meta.url);
  while (readPackageFile(folder)?.name !== PACKAGE_NAME) {
    const parent = new URL("..", folder);
    if (parent.href === folder.href)
      throw new Error(`No folder above ${import.meta.url} has the package.json of ${PACKAGE_NAME}`);
    folder = parent;
  }
  return folder;
}

function readPackageFile(folder: URL): PackageFile | undefined {
  const file = new URL("package.json", folder);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as PackageFile) : undefined;
}

/** The version in package.json. */
export function readVersion(): string {
  const own = readPackageFile(packageRoot);
  assert(own !== undefined, "the package.json that was found is still there");
  return own.version;
}

/** The entry of every thread, next to this folder both in a checkout and in the package. */
export const mainFile: URL = new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url);

/** The newest format of each kind of file that this version writes. */
export const fileFormats = { data: FORMAT, tokens: TOKENS_FORMAT } as const;
