/** The compile cache of V8 is code that the next start runs, so no other user may be able to write it (threats.md S-18). */
import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { spawnProgram } from "./program-process.ts";

interface CompileCache {
  findCompileCache(options: {
    build: string;
    env?: NodeJS.ProcessEnv;
    accounts?: { passwd: string; group: string };
  }): string | undefined;
}

const { findCompileCache } = createRequire(import.meta.url)("../../bin/compile-cache.cjs") as CompileCache;

const BUILD = "1.2.3-0123abcd";
const OWNER_ONLY = 0o700;
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** A directory that only its owner can enter, by its real name. */
function temporaryDirectory(context: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "larder-compile-cache-")));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function find(base: string, accounts?: { passwd: string; group: string }): string | undefined {
  return findCompileCache({ build: BUILD, env: { XDG_CACHE_HOME: base }, ...(accounts && { accounts }) });
}

/** Runs a short command with this cache directory of its user. */
async function runWithCacheIn(base: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  // An empty value counts as none.
  const { ended } = spawnProgram(["--version"], { env: { XDG_CACHE_HOME: base, NODE_COMPILE_CACHE: "", ...env } });
  assert.deepEqual(await ended, { code: 0, signal: null });
}

test("S-18: a start caches compiled code in a directory that only its user can enter", async (context) => {
  const base = temporaryDirectory(context);

  await runWithCacheIn(base);

  const compiled = join(base, "larder", "compiled");
  const [build = ""] = readdirSync(compiled);
  for (const path of [join(base, "larder"), compiled, join(compiled, build)]) {
    assert.equal(statSync(path).mode & 0o777, OWNER_ONLY, path);
  }
  assert.match(build, /^\d+\.\d+\.\d+-[0-9a-f]{8}$/);
  assert.equal(readdirSync(join(compiled, build)).length, 1);
});

test("NODE_DISABLE_COMPILE_CACHE turns the cache off", async (context) => {
  const base = temporaryDirectory(context);
  await runWithCacheIn(base, { NODE_DISABLE_COMPILE_CACHE: "1" });
  assert.deepEqual(readdirSync(base), []);
});

test("makes missing directories above the cache, for their user only", (context) => {
  const base = join(temporaryDirectory(context), "home", ".cache");
  assert.equal(find(base), join(base, "larder", "compiled", BUILD));
  assert.equal(statSync(base).mode & 0o777, OWNER_ONLY);
});

for (const place of ["larder", "larder/compiled", `larder/compiled/${BUILD}`]) {
  test(`S-18: a directory ${place} that others can enter, a link or a file there is no cache, and stays as it is`, (context) => {
    const base = temporaryDirectory(context);
    const path = join(base, place);
    mkdirSync(path, { recursive: true, mode: OWNER_ONLY });
    for (const mode of [0o777, 0o770, 0o720, 0o755, 0o701]) {
      chmodSync(path, mode);
      assert.equal(find(base), undefined, mode.toString(8));
      assert.equal(statSync(path).mode & 0o777, mode);
    }
    assert.deepEqual(readdirSync(path), []);

    rmSync(path, { recursive: true });
    const elsewhere = join(base, "elsewhere");
    mkdirSync(elsewhere, { mode: OWNER_ONLY });
    symlinkSync(elsewhere, path);
    assert.equal(find(base), undefined);
    assert.deepEqual(readdirSync(elsewhere), []);

    rmSync(path);
    writeFileSync(path, "");
    assert.equal(find(base), undefined);
  });

  test(`S-18: a directory ${place} of another user is no cache`, { skip: !isRoot && "needs root" }, (context) => {
    const base = temporaryDirectory(context);
    const path = join(base, place);
    mkdirSync(path, { recursive: true, mode: OWNER_ONLY });
    chownSync(path, NOBODY, NOBODY);
    assert.equal(find(base), undefined);
    assert.deepEqual(readdirSync(path), []);
  });
}

test("S-18: no cache below a directory in which others can write, unless it is sticky", (context) => {
  const parent = temporaryDirectory(context);
  const base = join(parent, "home");
  mkdirSync(base, { mode: OWNER_ONLY });

  chmodSync(parent, 0o777);
  assert.equal(find(base), undefined);
  assert.deepEqual(readdirSync(base), []);

  chmodSync(parent, 0o1777);
  assert.notEqual(find(base), undefined);
});

test("S-18: no cache below a directory of another user", { skip: !isRoot && "needs root" }, (context) => {
  const parent = temporaryDirectory(context);
  const base = join(parent, "home");
  mkdirSync(base, { mode: OWNER_ONLY });
  chownSync(parent, NOBODY, NOBODY);
  assert.equal(find(base), undefined);
  assert.deepEqual(readdirSync(base), []);
});

test("S-18: a base that is reached by a link is judged by its real place", (context) => {
  const parent = temporaryDirectory(context);
  const real = join(parent, "shared", "home");
  mkdirSync(real, { recursive: true });
  symlinkSync(real, join(parent, "link"));
  assert.equal(find(join(parent, "link")), join(real, "larder", "compiled", BUILD));

  rmSync(join(real, "larder"), { recursive: true });
  chmodSync(join(parent, "shared"), 0o777);
  assert.equal(find(join(parent, "link")), undefined);
});

test("S-18: a directory that a group can write is safe if the group is its user's own and has nobody else", (context) => {
  const base = temporaryDirectory(context);
  chmodSync(base, 0o770);
  const { username, gid } = userInfo();
  const accounts = { passwd: join(base, "passwd"), group: join(base, "group") };
  const write = (passwd: readonly string[], group: readonly string[]): void => {
    writeFileSync(accounts.passwd, `${passwd.join("\n")}\n`);
    writeFileSync(accounts.group, `${group.join("\n")}\n`);
  };
  const self = `${username}:x:1000:${gid}::/home:/bin/sh`;

  const cases: readonly [string, readonly string[], readonly string[], boolean][] = [
    ["no members", [self], [`own:x:${gid}:`], true],
    ["only oneself", [self], [`own:x:${gid}:${username}`], true],
    ["another member", [self], [`own:x:${gid}:${username},mallory`], false],
    ["another name of the group with a member", [self], [`own:x:${gid}:`, `same:x:${gid}:mallory`], false],
    ["the first group of another user", [self, `mallory:x:1001:${gid}::/:/bin/sh`], [`own:x:${gid}:`], false],
    ["an unknown group", [self], [`other:x:${gid + 1}:`], false],
  ];
  for (const [what, passwd, group, isSafe] of cases) {
    write(passwd, group);
    assert.equal(find(base, accounts) !== undefined, isSafe, what);
  }

  rmSync(accounts.group);
  assert.equal(find(base, accounts), undefined, "no file of groups");
});

test("S-18: a group that is not its user's first one is shared", { skip: !isRoot && "needs root" }, (context) => {
  const base = temporaryDirectory(context);
  const gid = 54_321;
  chownSync(base, 0, gid);
  chmodSync(base, 0o770);
  const accounts = { passwd: join(base, "passwd"), group: join(base, "group") };
  writeFileSync(accounts.passwd, "");
  writeFileSync(accounts.group, `own:x:${gid}:\n`);
  assert.equal(find(base, accounts), undefined);
});

test("starts without a cache where no directory can be made, or the base is relative", async (context) => {
  const base = temporaryDirectory(context);
  writeFileSync(join(base, "file"), "");
  assert.equal(find(join(base, "file", "cache")), undefined);
  assert.equal(find("relative"), undefined);
  assert.equal(existsSync("relative"), false);
  await runWithCacheIn(join(base, "file", "cache"));
});

test("each build has its own directory, and a new one removes all but the three made last", (context) => {
  const base = temporaryDirectory(context);
  const compiled = join(base, "larder", "compiled");
  mkdirSync(compiled, { recursive: true, mode: OWNER_ONLY });
  chmodSync(join(base, "larder"), OWNER_ONLY);
  const other = ["store", "1.2.3", "notes-0123abcd"];
  for (const name of other) mkdirSync(join(compiled, name));
  for (const n of [1, 2, 3, 4, 5]) {
    const path = join(compiled, `1.0.${n}-0123abcd`);
    mkdirSync(path, { mode: OWNER_ONLY });
    writeFileSync(join(path, "code"), "");
    utimesSync(path, n, n);
  }

  assert.equal(find(base), join(compiled, BUILD));

  const kept = ["1.0.3-0123abcd", "1.0.4-0123abcd", "1.0.5-0123abcd", BUILD];
  assert.deepEqual(readdirSync(compiled).sort(), [...kept, ...other].sort());
  assert.equal(find(base), join(compiled, BUILD));
  assert.deepEqual(readdirSync(compiled).sort(), [...kept, ...other].sort());
});
