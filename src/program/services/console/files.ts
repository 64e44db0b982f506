/**
 * The built console: `dist/console/` of the package, where text files are compressed
 * (`.br`). Everything is read once, so that no request touches the disk; until it is
 * built, each request looks again.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConsoleFile, ConsoleFiles } from "../../../edge/admin/console/pages.ts";
import { packageRoot } from "../../package-files.ts";
import { codeOf } from "../../refusal.ts";

const COMPRESSED = ".br";

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
  const files = new Map<string, ConsoleFile>();
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const name = relative(folder, path).replaceAll(sep, "/");
      const bytes = readFileSync(path);
      if (name.endsWith(COMPRESSED)) files.set(name.slice(0, -COMPRESSED.length), { brotli: bytes });
      else files.set(name, { content: bytes });
    }
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault;
  }
  return files;
}
