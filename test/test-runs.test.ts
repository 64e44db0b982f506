/** `tools/run-tests.ts`: the files that run, and the failures of a run. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { changedFiles } from "../tools/tests/passed-files.ts";
import {
  clusterFiles,
  clusterProcesses,
  longest,
  measuring,
  ownProcess,
  processesOf,
  singleOnly,
  type TestProcess,
} from "../tools/tests/processes.ts";
import { rooms } from "../tools/tests/rooms.ts";
import { differences, quiet, stateOfProcess } from "../tools/tests/shard.ts";
import { sizes } from "../tools/tests/sizes.ts";

const ALL = "{src,test}/**/*.test.ts";
const RUN = new URL("../tools/tests/run.ts", import.meta.url).href;
const SEED = new URL("harness/seed.ts", import.meta.url).href;

for (const isProof of [false, true]) {
  const size = isProof ? "in a proof" : "in the other sizes";

  test(`every test file runs exactly once ${size}`, () => {
    const files = processesOf([ALL, "src/**/*.test.ts"], { isProof }).flatMap((one) => one.files);
    assert.deepEqual(files.sort(), globSync(ALL).sort());
  });

  test(`each file that needs its own process exists and has it ${size}`, () => {
    const alone = new Set(processesOf([ALL], { isProof }).flatMap(({ files }) => (files.length === 1 ? files : [])));
    for (const file of Object.keys(ownProcess)) assert.ok(existsSync(file) && alone.has(file), file);
  });
}

test("the longest files of a proof start first, each in its own process", () => {
  const first = processesOf([...(sizes["proof"]?.tests ?? [])], { isProof: true }).slice(0, longest.length);
  assert.deepEqual(
    first.map(({ files }) => files),
    longest.map((file) => [file]),
  );
});

test("a proof runs alone what measures how long clients wait", () => {
  const alone = processesOf([ALL], { isProof: true }).filter(({ isAlone }) => isAlone === true);
  assert.deepEqual(
    alone.map(({ files }) => files),
    measuring.map((file) => [file]),
  );
});

test("npm test or npm run proof has each test file", () => {
  const files = new Set(["test", "proof"].flatMap((size) => globSync([...(sizes[size]?.tests ?? [])])));
  assert.deepEqual(
    globSync(ALL).filter((file) => !files.has(file)),
    [],
  );
});

test("each random suite of a folder has its own process only in a proof", () => {
  const pattern = ["test/fuzz/*.test.ts"];
  const files = globSync(pattern);
  assert.equal(processesOf(pattern, { isProof: true }).length, files.length);
  assert.ok(processesOf(pattern, { isProof: false }).length < files.length / 3);
});

test("a proof runs the suites of what clients see on the only node of a cluster, on the owner of three and through one that owns nothing", () => {
  const suites = globSync("test/sdk/**/*.test.ts").filter((file) => !Object.hasOwn(singleOnly, file));
  const processes = clusterProcesses();
  assert.deepEqual(
    [...new Set(processes.map(({ setting }) => setting))],
    ["one-confirm", "three-lease", "three-front"],
  );
  for (const setting of ["one-confirm", "three-lease", "three-front"]) {
    const files = processes.filter((one) => one.setting === setting).flatMap((one) => one.files);
    assert.equal(new Set(files).size, files.length);
    for (const file of [...suites, "test/conformance/store-families.test.ts"]) assert.ok(files.includes(file), file);
  }
  const killed = processes.filter(({ files }) => files.includes("test/simulation/kill/store/kill-rounds.test.ts"));
  assert.deepEqual(
    killed.map(({ setting }) => setting),
    ["one-confirm"],
  );
  for (const file of Object.keys(singleOnly)) assert.ok(existsSync(file), file);
  const conformance = globSync("test/conformance/*.test.ts").filter((file) => !Object.hasOwn(singleOnly, file));
  assert.deepEqual(
    conformance.filter((file) => !clusterFiles("three-front").includes(file)),
    [],
  );
});

test("every room has tests, and each of its patterns matches a file", () => {
  const folders = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory());
  assert.deepEqual(Object.keys(rooms).sort(), folders.map(({ name }) => name).sort());
  for (const pattern of Object.values(rooms).flat()) assert.ok(globSync(pattern).length > 0, pattern);
});

const fixtures = {
  "counted.mjs": "export const counted = { times: 0 };",
  "hooks.mjs": `import { counted } from "./counted.mjs"; import { beforeEach, test } from "node:test";
    beforeEach(() => { counted.times += 1; }); test("has a hook", () => {});`,
  "passes.mjs": `import { counted } from "./counted.mjs"; import { test } from "node:test"; import assert from "node:assert";
    test("hooks of other files do not run", () => assert.equal(counted.times, 1));`,
  "fails.mjs": `import { test } from "node:test"; test("fails", () => { throw new Error("wrong value"); });`,
  "unreadable.mjs": `throw new Error("cannot be read");`,
  "draws.mjs": `import { seedFrom } from ${JSON.stringify(SEED)}; import { test } from "node:test";
    const seed = seedFrom("LARDER_DRAWN_SEED"); test("fails", () => { throw new Error(\`seed \${seed}\`); });`,
  "leaves.mjs": `import { test } from "node:test"; test("sets", () => { process.env.LARDER_LEFT = "1"; });`,
  "crashes.mjs": `import { test } from "node:test"; test("crashes", () => process.kill(process.pid, "SIGKILL"));`,
  "remains.mjs": `import { test } from "node:test"; import { createServer } from "node:net";
    test("fails before it closes a server", async () => {
      await new Promise((resolve) => createServer().listen(0, "127.0.0.1", resolve)); throw new Error("open"); });`,
  "throws.mjs": `import { test } from "node:test";
    test("waits for a callback that throws", () => new Promise(() => {
      setTimeout(() => { throw new Error("in no test"); }, 1); }));`,
  "alone.mjs": `import { test } from "node:test"; test("is alone", () => {});`,
  "ends.mjs": `import { test } from "node:test"; test("ends the process", () => process.exit(0));`,
};

type Fixture = keyof typeof fixtures;

/** Runs fixtures in one process; returns the output of the run, and its exit code. */
function runShardOf(...files: readonly Fixture[]): RunOutput {
  return runOf([{ name: "shard", files }]);
}

interface RunOutput {
  readonly text: string;
  readonly status: number | null;
}

function runOf(processes: readonly (TestProcess & { readonly files: readonly Fixture[] })[]): RunOutput {
  const folder = mkdtempSync(join(tmpdir(), "larder-test-runs-"));
  try {
    for (const [name, text] of Object.entries(fixtures)) writeFileSync(join(folder, name), text);
    const program = `import { runTests } from ${JSON.stringify(RUN)};
      const { isPassed } = await runTests(${JSON.stringify(processes)}, { concurrency: 1, testMsMax: 60_000, closingMsMax: 200 });
      process.exit(isPassed ? 0 : 1);`;
    writeFileSync(join(folder, "run.mjs"), program);
    // A test process must not start another run, unless it is not marked as one.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout, stderr, status } = spawnSync(process.execPath, ["run.mjs"], { cwd: folder, env, encoding: "utf8" });
    return { text: stdout + stderr, status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("what must be alone runs after the others", () => {
  const { text, status } = runOf([
    { name: "first", files: ["alone.mjs"], isAlone: true },
    { name: "second", files: ["hooks.mjs", "passes.mjs"] },
  ]);
  assert.equal(status, 0, text);
  assert.match(text, /✔ passes\.mjs.*✔ is alone/s);
});

test("files that share a process have their own hooks, and the run passes", () => {
  const { text, status } = runShardOf("hooks.mjs", "passes.mjs");
  assert.equal(status, 0, text);
  assert.match(text, /✔ has a hook.*✔ hooks\.mjs.*✔ hooks of other files do not run.*✔ passes\.mjs/s);
});

test("a failed test, a file that cannot be read and a changed process fail the run by name, and the others run", () => {
  const { text, status } = runShardOf("fails.mjs", "unreadable.mjs", "leaves.mjs", "hooks.mjs");
  assert.equal(status, 1);
  assert.match(text, /test at fails\.mjs:1:35\n✖ fails .*Error: wrong value/s);
  assert.match(text, /✖ unreadable\.mjs .*Error: cannot be read/s);
  assert.match(text, /✖ leaves\.mjs leaves the process as it found it .*'environment variable LARDER_LEFT'/s);
  assert.match(text, /✔ hooks\.mjs leaves the process as it found it/s);
  assert.doesNotMatch(text, /no result of/);
});

test("a failure of a file that draws prints how to run that file with its seed", () => {
  const { text, status } = runShardOf("draws.mjs", "passes.mjs");
  assert.equal(status, 1);
  const [, seed = ""] = /Error: seed (\d+)/.exec(text) ?? [];
  assert.match(text, new RegExp(`^Again: .*LARDER_DRAWN_SEED=${seed} npm run t -- draws\\.mjs$`, "m"));
  assert.match(text, /✔ draws\.mjs leaves the process as it found it/);
});

for (const others of [[], ["hooks.mjs"]] as const) {
  const size = others.length === 0 ? "alone" : "with others";

  test(`the process of a file ends although a failed test has left a server open, ${size}`, () => {
    const { text, status } = runShardOf("remains.mjs", ...others);
    assert.equal(status, 1);
    assert.match(text, /✖ fails before it closes a server .*Error: open/s);
    assert.doesNotMatch(text, /no result of/);
    if (others.length === 0) return;
    assert.match(text, /✖ remains\.mjs leaves the process as it found it .*'open TCPServerWrap'/s);
    assert.match(text, /✔ hooks\.mjs leaves the process as it found it/);
  });
}

for (const [what, file] of [
  ["a crash", "crashes.mjs"],
  ["an end of the process", "ends.mjs"],
] as const) {
  test(`${what} fails the run, which names the file`, () => {
    const { text, status } = runShardOf("hooks.mjs", file, "passes.mjs");
    assert.equal(status, 1);
    assert.ok(text.includes(`the process of shard ended while it ran ${file}; no result of:\n`), text);
    assert.ok(text.includes(`\n  ${file}\n  passes.mjs\n`), text);
  });
}

test("an error that no test catches ends the process of a file at once, and fails the run", () => {
  const { text, status } = runShardOf("throws.mjs");
  assert.equal(status, 1, text);
  assert.match(text, /Error: in no test\n +at /);
  assert.ok(text.includes("the process of shard ended while it ran throws.mjs; no result of:\n  throws.mjs\n"), text);
});

test("an open server and a listener of the process are differences until they are closed", async () => {
  const before = stateOfProcess();
  const listen = (): void => {};
  process.on("rejectionHandled", listen);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  assert.deepEqual(differences(before, stateOfProcess()), ["listeners of rejectionHandled", "open TCPServerWrap"]);
  process.off("rejectionHandled", listen);
  server.close();
  await quiet(before);
  assert.deepEqual(differences(before, stateOfProcess()), []);
});

test("a check looks at a file again after a change of the file or of the settings, and only after a pass", () => {
  const folder = mkdtempSync(join(tmpdir(), "larder-test-runs-"));
  const [settings = "", one = "", other = ""] = ["settings", "one", "other"].map((name) => join(folder, name));
  const changed = () => changedFiles([one, other], { list: join(folder, "cache", "list"), settings: [settings] });
  try {
    for (const path of [settings, one, other]) writeFileSync(path, "text");
    assert.deepEqual(changed().paths, [one, other]);
    assert.deepEqual(changed().paths, [one, other]);
    changed().pass();
    assert.deepEqual(changed().paths, []);
    writeFileSync(other, "changed");
    assert.deepEqual(changed().paths, [other]);
    changed().pass();
    rmSync(one);
    assert.deepEqual(changed().paths, []);
    writeFileSync(settings, "changed");
    assert.deepEqual(changed().paths, [other]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
