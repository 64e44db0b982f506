/**
 * Builds the console (`console/`) into `dist/console/`, from where the admin port serves it. `npm ci` in the root runs it, so
 * `npm run dev` has the console without a further step. Text files are kept compressed only: that is how browsers get them.
 *
 *     npm run console                    installs what the console is built with, and builds
 *     node tools/console.ts --if-changed only if a source is newer than the last build; without the npm registry it says so and succeeds
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "console");
const target = join(root, "dist/console");
/** Code of the server that is in the console (`pages/messaging/next-times.ts`). */
const SERVER_CODE = ["src/messaging/cron/*.ts", "src/kernel/text/duration.ts"];
/** The digest of the sources of a build. */
const STAMP = ".sources";
/** The rest is npm's help. */
const ERROR_LENGTH_MAX = 300;
const COMPRESSED = "**/*.{html,js,css,svg}";

/** Returns why the console could not be built; nothing after a build, or if the last one is of these sources. */
export function buildConsole({ onlyIfChanged }: { readonly onlyIfChanged: boolean }): string | undefined {
  // A package that was installed from a tarball has no sources.
  if (!existsSync(join(source, "package-lock.json"))) return undefined;
  const digest = digestOfSources();
  const stamp = join(target, STAMP);
  if (onlyIfChanged && existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return undefined;
  for (const args of [
    ["ci", "--no-audit", "--no-fund", "--ignore-scripts"],
    ["run", "--silent", "build"],
  ]) {
    const { status, stderr } = spawnSync("npm", args, { cwd: source, encoding: "utf8" });
    if (status !== 0) return `npm ${args[0]} in console/ failed: ${stderr.trim().slice(0, ERROR_LENGTH_MAX)}`;
  }
  compress();
  writeFileSync(stamp, digest);
  return undefined;
}

/** Replaces each text file with its compressed form. */
function compress(): void {
  mkdirSync(target, { recursive: true });
  for (const path of globSync(COMPRESSED, { cwd: target })) {
    const file = join(target, path);
    const text = readFileSync(file);
    writeFileSync(
      `${file}.br`,
      brotliCompressSync(text, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
      }),
    );
    rmSync(file);
  }
}

function digestOfSources(): string {
  const hash = createHash("sha256");
  const own = globSync("{*,src/**/*}", { cwd: source, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const shared = globSync(SERVER_CODE, { cwd: root }).map((path) => join(root, path));
  for (const path of [...own, ...shared].sort())
    hash.update(path.slice(root.length)).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}

if (import.meta.main) {
  const onlyIfChanged = process.argv.includes("--if-changed");
  const failure = buildConsole({ onlyIfChanged });
  if (failure !== undefined) {
    console.error(`The console is not built: ${failure}`);
    if (onlyIfChanged) console.error("`npm run console` builds it; everything else works without it.");
    else process.exitCode = 1;
  }
}
