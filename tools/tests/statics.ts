/**
 * The checks that run no code of ours: format, lint and types. Both remember what
 * passed (`node_modules/.cache`), so that only the first run in a clone takes
 * long.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { changedFiles } from "./passed-files.ts";

const CACHE = "node_modules/.cache";
const BIOME = ["biome", "check", "--error-on-warnings"];
/** With more changed files than this the folder is named, and not each file. */
const NAMED_FILES_MAX = 300;

/** Runs both side by side; returns whether both pass. */
export async function runStatics(): Promise<boolean> {
  const passed = await Promise.all([checkFormat(), checkTypes()]);
  return !passed.includes(false);
}

/** The rules of biome.json look at one file at a time. */
async function checkFormat(): Promise<boolean> {
  const files = repositoryFiles();
  if (files === undefined) return runStep("format and lint", BIOME);
  const changed = changedFiles(files, {
    list: `${CACHE}/format-and-lint.json`,
    settings: ["biome.json", ".gitignore", "node_modules/@biomejs/biome/package.json"],
  });
  const { paths } = changed;
  if (paths.length === 0) return true;
  const named = paths.length > NAMED_FILES_MAX ? [] : ["--no-errors-on-unmatched", ...paths];
  const isPassed = await runStep("format and lint", [...BIOME, ...named]);
  if (isPassed) changed.pass();
  return isPassed;
}

async function checkTypes(): Promise<boolean> {
  const ours = await runStep("types", typesOf(".", "types"));
  // The packages of the console are installed when it is built.
  if (!existsSync("console/node_modules")) return ours;
  return (await runStep("types of the console", typesOf("console", "console-types"))) && ours;
}

function typesOf(project: string, name: string): readonly string[] {
  return ["tsc", "-p", project, "--incremental", "--tsBuildInfoFile", `${CACHE}/${name}.tsbuildinfo`];
}

/** All files that are committed or could be. Undefined: git does not know, as in a source archive. */
function repositoryFiles(): readonly string[] | undefined {
  const { status, stdout } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return status === 0 ? stdout.split("\0").filter((path) => path !== "") : undefined;
}

function runStep(name: string, [program = "", ...rest]: readonly string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, { stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code !== 0) console.error(`${name} failed`);
      resolve(code === 0);
    });
  });
}
