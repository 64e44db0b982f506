/**
 * Builds what the package runs: `src/` as a few JavaScript files in one flat
 * folder, because a program of hundreds of small files takes two thirds longer to start;
 * and the types of the library. Dependencies stay packages of their own.
 *
 *     dist/main.js, mod.js, …    the entries (src/program/package-files.ts), and what they share
 *     dist/vitest.js, jest.cjs, …    those for test runners, which share nothing with them
 *     dist/types/                    the types of `start()` and of those
 *     dist/console/                  the console, built by tools/console.ts
 *
 * Run: npm run build
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputOptions, rolldown } from "rolldown";
import { entries, testEntries } from "../src/program/package-files.ts";
import { compacted } from "./compact-code.ts";
import { builtinsByName, startFileGroups, treeshake } from "./start-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Bundles the program into `folder`. What is imported on demand stays in files that are loaded on demand. */
export async function buildProgram(folder: string): Promise<void> {
  clear(folder);
  await bundleEntries(entries, folder, {
    codeSplitting: { groups: await startFileGroups(root, Object.values(entries)) },
  });
  await bundleEntries(testEntries, folder);
  // Jest runs most tests as CommonJS.
  await bundleEntries({ jest: testEntries.jest }, folder, { format: "cjs", entryFileNames: "[name].cjs" });
}

async function bundleEntries(
  input: Readonly<Record<string, string>>,
  dir: string,
  output: OutputOptions = {},
): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(input).map(([name, path]) => [name, `src/${path}`])),
    platform: "node",
    // Packages, but no file of ours.
    external: /^[^./]/,
    // Modules that some entry needs at once are in files that others load on demand.
    checks: { ineffectiveDynamicImport: false },
    treeshake,
    // No comment for each module, of which there are a thousand.
    experimental: { attachDebugInfo: "none" },
    plugins: [builtinsByName, compacted],
  });
  await bundle.write({
    dir,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // The sources have them, and the types.
    comments: false,
    // Their own names are shorter than a letter and the name, which most importers need.
    minifyInternalExports: false,
    ...output,
  });
  await bundle.close();
}

/** These have builds of their own. */
const builtElsewhere: readonly string[] = ["console", "site"];

/** Removes what was built before. */
function clear(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (!builtElsewhere.includes(name)) rmSync(join(folder, name), { recursive: true });
}

/** Makes `folder` a package as a user installs it, without its documentation, for tests that start the program. */
export async function buildPackage(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await buildProgram(`${folder}/dist`);
  for (const name of ["package.json", "bin", "vendor"])
    cpSync(`${root}/${name}`, `${folder}/${name}`, { recursive: true });
}

/** Writes the declarations that the modules of the package need into `folder`, and returns whether the sources compile. */
function buildTypes(folder: string): boolean {
  const all = mkdtempSync(join(tmpdir(), "larder-types-"));
  try {
    const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json", "--outDir", all], {
      cwd: root,
      stdio: "inherit",
    });
    if (status !== 0) return false;
    for (const path of [entries.mod, ...Object.values(testEntries)].map((source) => source.replace(/ts$/, "d.ts")))
      for (const found of declarationsFrom(path, all)) cpSync(join(all, found), join(folder, found));
    writeFileSync(join(folder, testEntries.jest.replace(/ts$/, "d.cts")), typesForRequire);
    return true;
  } finally {
    rmSync(all, { recursive: true });
  }
}

/** The types of jest.cjs: those of jest.js, which a CommonJS module may only import with this attribute. */
const typesForRequire = `import type * as jest from "./jest.d.ts" with { "resolution-mode": "import" };
export type FreshLarder = jest.FreshLarder;
export type FreshLarderOptions = jest.FreshLarderOptions;
export type FrozenLarder = jest.FrozenLarder;
export declare const freshLarder: typeof jest.freshLarder;
`;

/** The paths of a declaration file and of all that it imports, below `folder`. */
function declarationsFrom(path: string, folder: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const [, specifier = ""] of readFileSync(join(folder, path), "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g))
    declarationsFrom(join(dirname(path), specifier).replace(/\.ts$/, ".d.ts"), folder, found);
  return found;
}

if (import.meta.main) {
  await buildProgram(`${root}/dist`);
  process.exitCode = buildTypes(`${root}/dist/types`) ? 0 : 1;
}
