/** A data directory whose tokens all come from the environment: it has no tokens.json, and every command accepts it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { runHere } from "../harness/command-runner.ts";
import { oneThread, programFile, spawnProgram, startProgram } from "./program-process.ts";

const timeout = 120_000;

function userToken(password: string): string {
  return Buffer.from(JSON.stringify({ UserID: "0e0e0e0e-0000-4000-8000-000000000001", Password: password })).toString(
    "base64",
  );
}

const TOKENS = {
  LARDER_STORE_TOKEN: "store-token-of-the-environment",
  LARDER_STORE_READ_ONLY_TOKEN: "store-reader-of-the-environment",
  LARDER_VECTOR_TOKEN: "vector-token-of-the-environment",
  LARDER_VECTOR_READ_ONLY_TOKEN: "vector-reader-of-the-environment",
  LARDER_MESSAGING_TOKEN: userToken("standard"),
  LARDER_MESSAGING_READ_ONLY_TOKEN: userToken("reader"),
  LARDER_CURRENT_SIGNING_KEY: "sig_current-of-the-environment",
  LARDER_NEXT_SIGNING_KEY: "sig_next-of-the-environment",
  LARDER_ADMIN_TOKEN: "admin-token-of-the-environment",
};

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs a command in this process. */
const larder = (words: readonly string[], env: Readonly<Record<string, string>> = TOKENS) => runHere(words, env);

test("commands accept a data directory without tokens.json, with and without a server", {
  timeout,
}, async (context) => {
  const root = temporaryDirectory(context);
  const directory = join(root, "data");
  const args = ["--data-dir", directory];
  await using server = await startProgram("serve", { args: [...args, ...oneThread], env: TOKENS });
  assert.equal(existsSync(join(directory, "tokens.json")), false);

  assert.deepEqual(await errorsOf("running"), []);
  const stats = spawnProgram(["stats", "--json", ...args], { env: TOKENS });
  assert.deepEqual([(await stats.ended).code, JSON.parse(stats.output).areas.store.state], [0, "serving"]);
  const { LARDER_ADMIN_TOKEN: _admin, ...others } = TOKENS;
  const without = await larder(["stats", ...args], others);
  assert.deepEqual(without, {
    code: 1,
    output: "",
    log: `larder: ${directory}/tokens.json does not exist: set LARDER_ADMIN_TOKEN to the admin token that it was started with\n`,
  });

  await server.stop();
  assert.deepEqual(await errorsOf("stopped"), []);
  assert.equal((await larder(["verify", directory])).code, 0);
  assert.equal((await larder(["verify", join(root, "stopped.tar")])).code, 0);
  const restored = join(root, "restored");
  assert.equal((await larder(["restore", join(root, "stopped.tar"), "--data-dir", restored])).code, 0);
  const reset = await larder(["token", "reset", "main", ...args]);
  assert.match(reset.log, /The database main is set by LARDER_STORE_TOKEN: change it there/);
  assert.equal(existsSync(join(directory, "tokens.json")), false);

  async function errorsOf(name: string): Promise<readonly string[]> {
    const calls = [
      ["backup", join(root, `${name}.tar`)],
      ["export", "store", join(root, `${name}.rdb`)],
      ["export", "messaging", join(root, `${name}.json`)],
    ];
    const errors = [];
    for (const words of calls) {
      const { code, log } = await larder([...words, ...args]);
      if (code !== 0) errors.push(log);
    }
    return errors;
  }
});

test("backup writes to standard output, a pipe or a device, and replaces a file only with --replace", {
  timeout,
  skip: process.platform !== "linux",
}, async (context) => {
  const root = temporaryDirectory(context);
  const directory = join(root, "data");
  const args = ["--data-dir", directory];
  await (await startProgram("serve", { args: [...args, ...oneThread], env: TOKENS })).stop();
  const backup = (file: string, ...more: readonly string[]) => larder(["backup", file, ...args, ...more]);

  // The shell redirects the output, as users do.
  const piped = join(root, "piped.tar");
  const line = `"$0" "$1" backup - --data-dir "$2" > "$3"`;
  const shell = await promisify(execFile)("sh", ["-c", line, process.execPath, programFile, directory, piped], {
    env: { PATH: process.env["PATH"], ...TOKENS },
  });
  assert.match(shell.stderr, /^larder: backup on standard output: \d+ bytes; /m);
  assert.equal(existsSync("-"), false);
  assert.equal((await larder(["verify", piped])).code, 0);

  const full = await backup("/dev/full");
  assert.deepEqual(
    [full.code, full.log],
    [1, "larder: No space left for the backup /dev/full: free some space, or write it elsewhere\n"],
  );
  assert.equal(lstatSync("/dev/full").isCharacterDevice(), true);
  assert.equal((await backup("/dev/null", "--replace")).code, 0);
  assert.equal(lstatSync("/dev/null").isCharacterDevice(), true);

  const existing = join(root, "existing.tar");
  writeFileSync(existing, "mine");
  const link = join(root, "link.tar");
  symlinkSync(join(root, "nothing"), link);
  for (const path of [existing, link]) {
    const refused = await backup(path);
    assert.deepEqual(
      [refused.code, refused.log],
      [1, `larder: ${path} already exists: name another file, or replace it with --replace\n`],
    );
  }
  assert.equal(readFileSync(existing, "utf8"), "mine");
  assert.equal((await backup(existing, "--replace")).code, 0);
  assert.equal((await larder(["verify", existing])).code, 0);

  for (const area of ["store", "vector", "messaging"]) {
    const device = await larder(["export", area, "/dev/full", "--replace", ...args]);
    assert.deepEqual([device.code, device.log], [1, "larder: /dev/full is not a file: name another one\n"], area);
    const dash = await larder(["export", area, "-", ...args]);
    assert.equal(
      dash.log,
      "larder: An export cannot go to standard output: name a file (./- is a file of that name)\n",
      area,
    );
  }
  assert.equal(lstatSync("/dev/full").isCharacterDevice(), true);
});
