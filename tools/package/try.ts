/**
 * Packs larder as for publishing and uses it as a new user would: an empty
 * folder, `npm install <tarball>` without scripts, `npx larderd dev`, the official
 * clients, the library, its types; on each supported version of Node; tests of
 * node:test, Vitest and Jest; and the help of each command. Checkers of others read its OpenAPI documents and manifests.
 * Needs the npm registry, and takes about two minutes.
 *
 * Run: npm run package
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandRows } from "../../src/program/cli/commands.ts";
import { tryOutsideChecks } from "./outside-checks.ts";
import { tryPageTests } from "./page-tests.ts";

/** The oldest and the newest supported version. */
const NODE_MAJORS = [24, 26];
/** What users install: packages, and the bytes of their files. */
const PACKAGE_COUNT_MAX = 4;
// 6.68 MB; 0.4 MB for the console: its pages, compressed (0.24 MB), and what serves them; 0.05 MB for services and further pages.
const INSTALLED_BYTES_MAX = 7_200_000;
const CLIENTS = ["@upstash/qstash", "@upstash/redis", "@upstash/vector", "@upstash/workflow", "zod"];
/** Test runners, of the major versions that the documentation names. */
const RUNNERS = ["vitest@5", "jest@30"];
/** Scripts that npm runs when a package is installed. It runs `prepare` in a checkout, and before it packs. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall"];

const FREE_PORTS = {
  LARDER_STORE_PORT: "0",
  LARDER_VECTOR_PORT: "0",
  LARDER_MESSAGING_PORT: "0",
  LARDER_ADMIN_PORT: "0",
};

/** Options of start() that must not compile. */
const MISTAKES = [
  "{ storPort: 0 }",
  '{ comand: "dev" }',
  '{ fsync: "sometimes" }',
  "{ threads: 2 }",
  "{ store: { database: [] } }",
  '{ store: { databases: [{ name: "a", tokn: "b" }] } }',
  '{ store: { databases: [{ token: "a name is missing" }] } }',
  '{ vector: { indexes: [{ name: "docs", dimensions: 3 }] } }',
  '{ vector: { models: { m: { provider: "http" } } } }',
];

const root = fileURLToPath(new URL("../..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "larder-package-"));

interface PackageFile {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

try {
  const tarball = pack();
  checkInstalledSize(tarball);
  await checkNpx();
  for (const major of NODE_MAJORS) await tryOn(major, tarball);
  checkTypes();
  tryRunners(tarball);
  tryExample(tarball);
  checkGlobalInstall(tarball);
  await tryOutsideChecks(folder, npm);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The path of the tarball, whose contents are checked. */
function pack(): string {
  npm(root, "pack", "--pack-destination", folder);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const tarball = join(folder, `larderd-${version}.tgz`);
  const paths = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).trim().split("\n");
  const unwanted = paths.filter(
    (path) =>
      !/^package\/(?:package\.json|LICENSE|README\.md|CHANGELOG\.md|bin\/(?:larder|compile-cache)\.cjs|docs\/.*\.md|config\.schema\.json|vendor\/[^/]+\/(?:README\.md|LICENSE|[^/]+\.(?:wasm|cjs))|dist\/.*\.(?:c?js|d\.c?ts)|dist\/console\/.*\.br)$/.test(
        path,
      ) || /\.test\./.test(path),
  );
  assert.deepEqual(unwanted, [], "only what runs and what is read is in the package");
  const own = JSON.parse(
    execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" }),
  ) as PackageFile;
  const running = INSTALL_SCRIPTS.filter((name) => own.scripts?.[name] !== undefined);
  assert.deepEqual(running, [], "nothing runs at installation");
  console.log(`${paths.length} files`);
  return tarball;
}

/** The tarball alone in an empty folder: few packages, few bytes, and no install script in any of them. */
function checkInstalledSize(tarball: string): void {
  const target = join(folder, "alone");
  mkdirSync(target);
  writeFileSync(join(target, "package.json"), '{ "private": true }\n');
  npm(target, "install", "--ignore-scripts", "--no-audit", "--no-fund", tarball);
  const files = readdirSync(join(target, "node_modules"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== ".package-lock.json")
    .map((entry) => join(entry.parentPath, entry.name));
  const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
  const { packages } = JSON.parse(readFileSync(join(target, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { readonly hasInstallScript?: true }>>;
  };
  const installed = Object.entries(packages).filter(([path]) => path !== "");
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);
  assert.deepEqual(scripted, [], "no package runs anything at installation");
  console.log(`${installed.length} packages with ${files.length} files and ${bytes} bytes`);
  assert.ok(installed.length <= PACKAGE_COUNT_MAX, `${installed.length} packages are installed`);
  assert.ok(bytes <= INSTALLED_BYTES_MAX, `${bytes} bytes are installed`);
}

/** `npx larderd dev` in the folder with the tarball alone, until it has printed its variables and stopped. */
async function checkNpx(): Promise<void> {
  const target = join(folder, "alone");
  // In a process group of its own: Ctrl-C reaches npx and the program in the same way.
  const npx = spawn("npx", ["--no", "larderd", "dev"], {
    cwd: target,
    env: { ...withoutOwn(), ...FREE_PORTS },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const { UPSTASH_REDIS_REST_URL = "" } = await readBlock(npx);
  const reply = await fetch(`${UPSTASH_REDIS_REST_URL}/ping`, { headers: { authorization: "Bearer dev" } });
  assert.deepEqual(await reply.json(), { result: "PONG" });
  npx.removeAllListeners("exit");
  const ended = once(npx, "exit");
  assert.ok(npx.pid !== undefined);
  process.kill(-npx.pid, "SIGINT");
  await ended;
  await assert.rejects(fetch(UPSTASH_REDIS_REST_URL), "nothing listens after Ctrl-C");
  console.log("npx larderd dev serves, and ends by Ctrl-C");
}

async function tryOn(major: number, tarball: string): Promise<void> {
  const target = join(folder, `node-${major}`);
  mkdirSync(target);
  writeFileSync(join(target, "package.json"), '{ "private": true, "type": "module" }\n');
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as PackageFile;
  const clients = CLIENTS.map((name) => `${name}@${devDependencies[name]}`);
  const nodePackage = `node-${process.platform}-${process.arch}`;
  npm(target, "install", "--ignore-scripts", "--no-audit", "--no-fund", tarball, `${nodePackage}@${major}`, ...clients);
  const node = join(target, "node_modules", nodePackage, "bin", "node");
  const larder = spawn(node, [join(target, "node_modules", "larderd", "bin", "larder.cjs"), "dev"], {
    cwd: target,
    env: { ...withoutOwn(), ...FREE_PORTS },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const variables = await readBlock(larder);
    cpSync(join(here, "consumer.mjs"), join(target, "consumer.mjs"));
    execFileSync(node, ["consumer.mjs"], {
      cwd: target,
      env: { ...withoutOwn(), ...variables },
      stdio: "inherit",
      timeout: 60_000,
    });
  } finally {
    larder.kill("SIGTERM");
  }
}

/** The variables that a start prints. */
async function readBlock(larder: ChildProcess): Promise<Record<string, string>> {
  let output = "";
  for (const stream of [larder.stdout, larder.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (chunk: string) => {
      output += chunk;
      if (output.includes("\n# admin:")) larder.emit("printed");
    });
  }
  await new Promise<void>((resolve, reject) => {
    larder.once("printed", resolve);
    larder.once("exit", (code) => reject(new Error(`larder dev ended with ${code}: ${output}`)));
  });
  return Object.fromEntries(Array.from(output.matchAll(/^([A-Z_]+)="(.*)"$/gm), ([, name, value]) => [name, value]));
}

/** With all declarations of the package checked, as its users may. */
function checkTypes(): void {
  const target = join(folder, `node-${NODE_MAJORS.at(-1)}`);
  cpSync(join(here, "consumer.ts"), join(target, "consumer.ts"));
  cpSync(join(root, "node_modules", "@types"), join(target, "node_modules", "@types"), { recursive: true });
  cpSync(join(root, "node_modules", "undici-types"), join(target, "node_modules", "undici-types"), { recursive: true });
  const tsc = join(root, "node_modules", ".bin", "tsc");
  const common = ["--strict", "--noEmit", "--target", "es2024", "--types", "node", "consumer.ts"];
  for (const module of [
    ["--module", "nodenext"],
    ["--module", "preserve", "--moduleResolution", "bundler"],
  ]) {
    execFileSync(tsc, [...module, ...common], { cwd: target, stdio: "inherit" });
  }
  const first = 'import { start } from "larderd";';
  writeFileSync(join(target, "mistakes.ts"), [first, ...MISTAKES.map((options) => `start(${options});`)].join("\n"));
  const { stdout } = spawnSync(tsc, ["--module", "nodenext", ...common, "mistakes.ts"], {
    cwd: target,
    encoding: "utf8",
  });
  const lines = Array.from(stdout.matchAll(/^mistakes\.ts\((\d+),/gm), ([, line]) => Number(line));
  const accepted = MISTAKES.filter((_, index) => !lines.includes(index + 2));
  assert.deepEqual(accepted, [], "each wrong option of start() is an error of the compiler");
  console.log("the types are complete");
}

/** Tests of each runner with one larder for the run. */
function tryRunners(tarball: string): void {
  const target = join(folder, "runners");
  cpSync(join(here, "runners"), target, { recursive: true });
  writeFileSync(join(target, "package.json"), '{ "private": true, "type": "module" }\n');
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as PackageFile;
  const names = ["@upstash/redis", "redis", "typescript", "@types/node"].map(
    (name) => `${name}@${devDependencies[name]}`,
  );
  npm(target, "install", "--ignore-scripts", "--no-audit", "--no-fund", tarball, ...names, ...RUNNERS);
  const compile = ["tsc", "--strict", "--noEmit", "--skipLibCheck", "--target", "es2024", "--types", "node"];
  const run = (cwd: string, [program = "", ...words]: readonly string[]): void => {
    const { status, stdout, stderr } = spawnSync(program, words, {
      cwd,
      env: withoutOwn(),
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.equal(status, 0, [cwd, program, ...words, stdout, stderr].join("\n"));
  };
  const commands = [
    [process.execPath, "--test", "--test-global-setup=node-setup.mjs", "node.test.mjs"],
    [process.execPath, "--test", "node.test.mjs"],
    ["npx", "--no", "--", "vitest", "run"],
    ["npx", "--no", "--", "jest"],
    ["npx", "--no", "--", ...compile, "--module", "nodenext", "vitest.test.ts"],
  ];
  for (const command of commands) run(target, command);
  console.log("tests of node:test, Vitest and Jest get larders of their own");
  tryPageTests(target, run);
  console.log("the tests of the pages pass");
}

/** The tests in examples/testing, in a copy as its README describes it. */
function tryExample(tarball: string): void {
  const target = join(folder, "testing");
  cpSync(join(root, "examples", "testing"), target, {
    recursive: true,
    filter: (path) => !path.endsWith("node_modules"),
  });
  npm(target, "install", "--save-dev", "--ignore-scripts", "--no-audit", "--no-fund", tarball);
  npm(target, "test");
  console.log("the tests in examples/testing pass");
}

function checkGlobalInstall(tarball: string): void {
  const prefix = join(folder, "global");
  npm(folder, "install", "--global", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", tarball);
  const installed = execFileSync(join(prefix, "bin", "larder"), ["--version"], { encoding: "utf8", env: withoutOwn() });
  assert.match(installed, /^larder \d/);
  const same = execFileSync(join(prefix, "bin", "larderd"), ["--version"], { encoding: "utf8", env: withoutOwn() });
  assert.equal(same, installed);
  // As `npx larderd`: npm chooses the command that has the name of the package.
  const fetched = npm(folder, "exec", "--yes", "--", `file:${tarball}`, "--version");
  assert.equal(fetched.trim().split("\n").at(-1), installed.trim());
  console.log(`${installed.trim()} installed globally, and by npx`);
  for (const { words, example } of commandRows) {
    const help = execFileSync(join(prefix, "bin", "larderd"), [...words.split(" "), "--help"], {
      encoding: "utf8",
      env: withoutOwn(),
    });
    assert.ok(help.startsWith(`larder ${words}`), help);
    assert.ok(help.includes(example), help);
  }
  console.log(`--help describes each of the ${commandRows.length} commands`);
}

function npm(cwd: string, ...words: readonly string[]): string {
  return execFileSync("npm", words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: withoutOwn() });
}

/** Without what npm tells the scripts of this project, which a stranger's npm is not told. */
function withoutOwn(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:npm_package_|npm_lifecycle_|LARDER_)/.test(name)),
  );
}
