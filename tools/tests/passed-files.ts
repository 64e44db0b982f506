/**
 * Which files have changed since a check passed them. A check that looks at one
 * file at a time, and gives the same answer for the same text and path, need not
 * look again at files that passed before. The list of those is below
 * `node_modules/.cache`, so a clean clone checks everything once.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The digest of each file that passed, and of the settings of the check at that time. */
interface Passed {
  readonly settings: string;
  readonly files: Readonly<Record<string, string>>;
}

export interface ChangedFiles {
  readonly paths: readonly string[];
  /** Notes that all files passed. */
  readonly pass: () => void;
}

/**
 * The changed ones of `paths`. With other contents of `settings` than last time, these are all. Files that no longer
 * exist do not count.
 */
export function changedFiles(
  paths: readonly string[],
  { list, settings }: { readonly list: string; readonly settings: readonly string[] },
): ChangedFiles {
  const settingsDigest = digestOf(settings.map((path) => readFileSync(path, "utf8")).join("\0"));
  const before = readPassed(list);
  const known = before?.settings === settingsDigest ? before.files : {};
  const files = Object.fromEntries(
    paths.filter((path) => existsSync(path)).map((path) => [path, digestOf(readFileSync(path))]),
  );
  return {
    paths: Object.keys(files).filter((path) => known[path] !== files[path]),
    pass: () => {
      mkdirSync(dirname(list), { recursive: true });
      writeFileSync(list, JSON.stringify({ settings: settingsDigest, files } satisfies Passed));
    },
  };
}

/** Undefined: the check has not passed yet, or its list was cut off while it was written. */
function readPassed(list: string): Passed | undefined {
  try {
    return JSON.parse(readFileSync(list, "utf8")) as Passed;
  } catch {
    return undefined;
  }
}

function digestOf(contents: string | Buffer): string {
  return createHash("sha256").update(contents).digest("base64");
}
