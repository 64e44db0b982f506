/**
 * The program of an earlier commit, built from the history of this clone, for
 * tests that run it beside the current one.
 *
 * It is built as a user gets it, on the dependencies of the current checkout. If
 * a later commit removes one that the earlier program needs, its build must move
 * on, or get a folder of its own.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../program/program-process.ts";

/** What a build reads. */
const SOURCES = ["bin", "package.json", "src", "tools", "vendor"];
const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;

/** Why a commit cannot be built here, or false; for the `skip` option of `test`. */
export function missingCommit(commit: string): string | false {
  try {
    execFileSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: repositoryRoot, stdio: "ignore" });
    return false;
  } catch {
    return `the history of the repository lacks ${commit}: use a full clone`;
  }
}

export interface EarlierBuild {
  /** The file that Node runs. */
  readonly program: string;
  /** Removes it. */
  stop(): void;
}

/** Builds a commit that `missingCommit` has found. */
export function buildCommit(commit: string): EarlierBuild {
  const folder = mkdtempSync(join(tmpdir(), "larder-earlier-"));
  const stop = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const archive = execFileSync("git", ["archive", "--format=tar", commit, "--", ...SOURCES], {
      cwd: repositoryRoot,
      maxBuffer: ARCHIVE_BYTES_MAX,
    });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    symlinkSync(join(repositoryRoot, "node_modules"), join(folder, "node_modules"));
    const built = join(folder, "built");
    const build = "const [, path] = process.argv; await (await import('./tools/build.ts')).buildPackage(path)";
    execFileSync(process.execPath, ["--input-type=module", "--eval", build, built], { cwd: folder, stdio: "pipe" });
    symlinkSync(join(repositoryRoot, "node_modules"), join(built, "node_modules"));
    return { program: join(built, "bin", "larder.cjs"), stop };
  } catch (fault) {
    stop();
    throw fault;
  }
}
