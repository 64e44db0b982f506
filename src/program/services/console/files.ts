/**
 * The built console: `dist/console/` of the package, with compressed siblings of
 * its files (`.br`, `.gz`) if the build has made them. Everything is read once, so
 * that no request touches the disk; until it is built, each request looks again.
 */
import { readdirSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConsoleFile, ConsoleFiles } from "../../../edge/admin/console/pages.ts";
import { packageRoot } from "../../package-files.ts";
import { codeOf } from "../../refusal.ts";

const COMPRESSED = /\.(?:br|gz)$/;

/** Returns a function that returns the files; undefined while the console is not built. */
export function consoleFiles(
  folder: string = fileURLToPath(new URL("dist/console/", packageRoot)),
): () => ConsoleFiles | undefined {
  let files: ConsoleFiles | undefined;
  return () => {
    files ??= readFiles(folder);
    return files;
  };
}

function readFiles(folder: string): ConsoleFiles | undefined {
  const contents = new Map<string, Buffer>();
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = `${entry.parentPath}${entry.parentPath.endsWith(sep) ? "" : sep}${entry.name}`;
      contents.set(path.slice(folder.length).replaceAll(sep, "/").replace(/^\//, ""), readFileSync(path));
    }
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault;
  }
  const files = new Map<string, ConsoleFile>();
  for (const [name, content] of contents) {
    if (COMPRESSED.test(name)) continue;
    files.set(name, { content, brotli: contents.get(`${name}.br`), gzip: contents.get(`${name}.gz`) });
  }
  return files;
}
