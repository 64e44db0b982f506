/**
 * Runs the tests of some files or folders:
 *
 *     npm run t -- test/fuzz/rdb-files.test.ts      one test file
 *     npm run t -- src/store/acl/users.ts           the test file beside a source
 *     npm run t -- store/acl vector                 folders of src/ and of test/
 *     npm run t -- store --test-name-pattern LFU    from the first option on: for node --test
 *
 * npm puts the Node of node_modules first on the PATH, so the Node that runs npm
 * does not matter.
 */
import { spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** The test files of a file or folder, from `root`. A folder is looked for in `root`, in `src/` and in `test/`. */
export function testFilesOf(target: string, root: string): readonly string[] {
  const files = sourceOrTest(target, root);
  if (files.length > 0) return files;
  const folders = [target, join("src", target), join("test", target)];
  const found = folders.filter((folder) => kindOf(join(root, folder)) === "folder");
  return found.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .sort()
      .map((path) => join(folder, path)),
  );
}

function sourceOrTest(target: string, root: string): readonly string[] {
  const test = target.endsWith(".test.ts") ? target : target.replace(/\.ts$/, ".test.ts");
  return test.endsWith(".test.ts") && kindOf(join(root, test)) === "file" ? [test] : [];
}

function kindOf(path: string): "file" | "folder" | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return stats.isDirectory() ? "folder" : "file";
}

function main(args: readonly string[]): void {
  const firstOption = args.findIndex((arg) => arg.startsWith("-"));
  const targets = firstOption === -1 ? args : args.slice(0, firstOption);
  const options = args.slice(targets.length);
  if (targets.length === 0) refuse("Usage: npm run t -- <file or folder>... [options of node --test]");
  const files = targets.flatMap((target) => {
    const found = testFilesOf(target, process.cwd());
    if (found.length === 0) refuse(`No tests in ${target}: name a test file, or a folder of src/ or test/`);
    return found;
  });
  const command = ["--test", "--test-concurrency=2", ...options, ...new Set(files)];
  const child = spawn("node", command, { stdio: "inherit" });
  child.on("close", (code) => process.exit(code ?? 1));
}

function refuse(text: string): never {
  console.error(text);
  process.exit(2);
}

if (import.meta.main) main(process.argv.slice(2));
