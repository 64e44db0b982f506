/** The files of `deploy/`: each is read by the program that it is for, and names only what larder has. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { adminRoutes } from "../src/edge/admin/routes.ts";
import { environmentOf } from "../src/program/cli/env-block.ts";
import { ungivenSecrets } from "../src/program/cluster/given-secrets.ts";
import { readSettings } from "../src/program/settings/read-settings.ts";
import { settingList } from "../src/program/settings/settings.ts";
import { resolveTenants } from "../src/program/tenants/tokens.ts";
import { copiedSources } from "../tools/release/artifacts.ts";
import { missingProgram } from "./harness/required-programs.ts";

const COMPOSE = "deploy/cluster/compose.yaml";
const BALANCER = "deploy/cluster/haproxy.cfg";
const UNIT = "deploy/systemd/larder@.service";
const ACTION = "deploy/github-action";
const FEATURE = "deploy/dev-container/larder";
const FRONT = { FRONT: "127.0.0.1", NODE_A: "127.0.0.2", NODE_B: "127.0.0.3", NODE_C: "127.0.0.4" };

const read = (path: string): string => readFileSync(path, "utf8");

function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "larder-deployment-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The names of the variables with a secret in a file, such as `LARDER_STORE_TOKEN`. */
function secretsIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(/\b(LARDER_[A-Z_]+)_FILE\b/g), ([, name = ""]) => name))].sort();
}

function make(folder: string, ...words: readonly string[]): void {
  const { status, stderr } = spawnSync("deploy/cluster/make-secrets", [folder, ...words], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

test("the image has every file that its build imports, the client of PostgreSQL and the signatures of S3", () => {
  const copied = copiedSources(read("Dockerfile"));
  const pending = ["tools/build.ts"];
  for (const path of pending) {
    assert.ok(copied.includes(path), `Dockerfile: the build imports ${path}, which is not copied`);
    for (const [, name = ""] of read(path).matchAll(/ from "\.\/([\w-]+\.ts)"/g)) pending.push(`tools/${name}`);
  }
  assert.ok(pending.length > 1, "the build has several files");
  assert.match(
    read("Dockerfile"),
    /^RUN npm pkg set dependencies\.aws4fetch=.*\nRUN npm pkg set dependencies\.pg=.*\nRUN npm prune --omit=dev /m,
  );
});

test("every variable in the files for deployments is a setting, and one from a file is a secret", () => {
  const rows = settingList.flatMap(([, row]) => row.environment.map((name) => [name, row.secret === true] as const));
  const known = new Map<string, boolean>(rows);
  const paths = ["Dockerfile", "compose.yaml", ...globSync("deploy/**/*").filter((path) => statSync(path).isFile())];
  assert.ok(paths.includes(COMPOSE) && paths.includes(UNIT));
  for (const path of paths) {
    for (const [name] of read(path).matchAll(/\bLARDER_[A-Z_]*[A-Z]\b/g)) {
      const isFile = name.endsWith("_FILE");
      const setting = name.replace(/_FILE$/, "");
      assert.ok(known.has(setting), `${path}: there is no setting ${setting}`);
      assert.ok(!isFile || known.get(setting) === true, `${path}: ${setting} is no secret, so it has no ${name}`);
    }
  }
});

test("make-secrets makes every secret that compose.yaml and the unit name, and a node starts with them", (context) => {
  const folder = join(temporaryFolder(context), "secrets");
  make(folder, "postgres://larder:word@127.0.0.1/larder");
  const made = readdirSync(folder)
    .map((name) => name.toUpperCase())
    .sort();
  assert.deepEqual(secretsIn(read(COMPOSE)), made);
  assert.deepEqual(secretsIn(read(UNIT)), made);
  const environment = Object.fromEntries(made.map((name) => [`${name}_FILE`, join(folder, name.toLowerCase())]));
  const reading = readSettings({ arguments: ["serve"], environment, readFile: read });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  assert.deepEqual(ungivenSecrets(resolveTenants(reading.run, {}).tenants), []);
  // Nobody else may list the folder; in a container another user reads the files.
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(statSync(join(folder, "larder_store_token")).mode & 0o777, 0o444);

  const before = read(join(folder, "larder_store_token"));
  make(folder, "postgres://other@127.0.0.1/larder");
  assert.equal(read(join(folder, "larder_store_token")), before);
  assert.equal(read(join(folder, "larder_cluster_url")), "postgres://larder:word@127.0.0.1/larder\n");
});

test("make-secrets for compose.yaml makes a password of PostgreSQL, which the URL has", (context) => {
  const folder = join(temporaryFolder(context), "secrets");
  make(folder);
  const password = read(join(folder, "postgres_password")).trim();
  assert.equal(
    read(join(folder, "larder_cluster_url")),
    `postgres://larder:${password}@postgres/larder?sslmode=disable\n`,
  );
  const made = readdirSync(folder).sort();
  const named = Array.from(read(COMPOSE).matchAll(/^ {2}(\w+): \{ file: secrets\/(\w+) \}$/gm), ([, name, file]) => {
    assert.equal(name, file);
    return file;
  });
  assert.deepEqual(named.sort(), made);
});

test("docker-compose reads compose.yaml: three nodes, PostgreSQL, its tables, and a load balancer", {
  skip: missingProgram("docker-compose"),
}, () => {
  const { status, stdout, stderr } = spawnSync("docker-compose", ["-f", COMPOSE, "config"], { encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
  // It prints the file with all anchors resolved: two spaces before a service, four before its fields. Its versions
  // print lists differently.
  const [, services = ""] = /^services:\n((?: .*\n)+)/m.exec(stdout) ?? [];
  const found = new Map(
    services
      .split(/^ {2}(?=\w)/m)
      .slice(1)
      .map((text) => [text.slice(0, text.indexOf(":")), text] as const),
  );
  assert.deepEqual([...found.keys()].sort(), ["a", "b", "balancer", "c", "postgres", "tables"]);
  for (const name of ["a", "b", "c"]) {
    const text = found.get(name) ?? "";
    assert.match(text, new RegExp(`^ {6}LARDER_CLUSTER_NODE: ${name}$`, "m"));
    assert.match(text, new RegExp(`^ {6}LARDER_CLUSTER_ADDRESS: ${name}:7400$`, "m"));
    assert.match(text, /^ {4}read_only: true$/m);
    assert.match(text, new RegExp(`^ +(?:- ${name}:/data:rw|source: ${name})$`, "m"));
    assert.match(text, /^ +- \/app\/health$/m);
    // Each secret that its settings name is mounted.
    for (const secret of secretsIn(text)) assert.match(text, new RegExp(`^ +- source: ${secret.toLowerCase()}$`, "m"));
  }
  assert.match(found.get("tables") ?? "", /^ {4}command:\n +- cluster\n +- init$/m);
});

test("docker-compose reads the compose.yaml of one larder: a volume, ports on loopback, and nothing else to write", {
  skip: missingProgram("docker-compose"),
}, () => {
  const { status, stdout, stderr } = spawnSync("docker-compose", ["-f", "compose.yaml", "config"], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stderr], [0, ""]);
  for (const part of [/^ {4}read_only: true$/m, /^ {4}cap_drop:\n +- ALL$/m, /^ +(?:- larder-data:|target: )\/data\b/m])
    assert.match(stdout, part);
  for (const port of [8079, 8080, 8081])
    assert.match(stdout, new RegExp(`\\b127\\.0\\.0\\.1(?::|\\s+target: )${port}\\b`));
  assert.equal(stdout.match(/\btarget: 80\d\d\b|:80\d\d(?:\/tcp)?$/gm)?.length, 3, "no other port is open");
});

test("containers and the service of a node are not killed while larder stops", () => {
  const reading = readSettings({ arguments: ["serve"], environment: {}, readFile: read });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  for (const path of ["compose.yaml", COMPOSE, UNIT]) {
    const limits = Array.from(read(path).matchAll(/^ *(?:stop_grace_period: |TimeoutStopSec=)(\d+)s?$/gm), ([, s]) =>
      Number(s),
    );
    assert.ok(limits.length > 0, path);
    // Requests, deliveries and a copy each have the grace; then it writes and syncs.
    for (const limit of limits) assert.ok(limit * 1_000 >= 3 * reading.run.settings.shutdownGraceMs + 15_000, path);
  }
});

test("HAProxy reads haproxy.cfg", { skip: missingProgram("haproxy") }, () => {
  const env = { ...process.env, ...FRONT };
  const { status, stderr } = spawnSync("haproxy", ["-c", "-f", BALANCER], { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /\[WARNING\]/);
});

test("health checks ask the path of readiness at the default admin port", () => {
  const ready = adminRoutes.find(({ id }) => id === "isReady");
  assert.deepEqual([ready?.method, ready?.path, ready?.access], ["GET", "/health/ready", "open"]);
  const port = settingList.find(([name]) => name === "adminPort")?.[1].default;
  assert.match(read(BALANCER), new RegExp(`http-check send meth ${ready?.method} uri ${ready?.path}$`, "m"));
  assert.match(read(BALANCER), new RegExp(`default-server check port ${port} `));
  assert.ok(read("deploy/image/health").includes(`${ready?.method} ${ready?.path} HTTP/1.1`));
});

test("systemd reads the unit of a node without a complaint", {
  skip: missingProgram("systemd-analyze"),
}, (context) => {
  const folder = temporaryFolder(context);
  // It looks for the program and for the user.
  const unit = read(UNIT)
    .replace("/usr/bin/larder", "/bin/true")
    .replace(/^User=larder\n/m, "");
  writeFileSync(join(folder, "larder@.service"), unit);
  const { status, stdout, stderr } = spawnSync(
    "systemd-analyze",
    ["verify", "--man=no", "--recursive-errors=no", join(folder, "larder@a.service")],
    { encoding: "utf8" },
  );
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
});

test("no unit has an option that ends Node or its second process, which writes snapshots", () => {
  for (const path of [UNIT, "src/program/cli/service/unit.ts"]) {
    const text = read(path);
    assert.doesNotMatch(text, /\bMemoryDenyWriteExecute=/, `${path}: V8 makes code at run time`);
    assert.doesNotMatch(
      text,
      /\bSystemCallFilter=~.*@(?:resources|process|system-service)\b/,
      `${path}: setpriority, spawn`,
    );
  }
});

test("the unit takes each secret from a credential of its name", () => {
  const text = read(UNIT);
  for (const name of secretsIn(text)) {
    const file = name.toLowerCase();
    assert.ok(text.includes(`\nLoadCredential=${file}:/etc/larder/secrets/${file}\n`), file);
    assert.ok(text.includes(`\nEnvironment=${name}_FILE=%d/${file}\n`), file);
  }
});

test("a dev container has the variables of larder dev, and its script starts that on their ports", () => {
  const { containerEnv, entrypoint } = JSON.parse(read(`${FEATURE}/devcontainer-feature.json`));
  const script = read(`${FEATURE}/install.sh`);
  const [, words = ""] = /\/larderd (dev.*?) >/.exec(script) ?? [];
  const reading = readSettings({ arguments: words.split(" "), environment: {}, readFile: read });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  const { storePort, messagingPort, vectorPort, respPort } = reading.run.settings;
  const address = (port: number | undefined): string => `127.0.0.1:${port}`;
  const addresses = {
    store: `http://${address(storePort)}`,
    messaging: `http://${address(messagingPort)}`,
    vector: `http://${address(vectorPort)}`,
    admin: "",
    resp: { host: address(respPort), isEncrypted: false },
  };
  assert.deepEqual(containerEnv, environmentOf(addresses, resolveTenants(reading.run, {}).tenants));
  const folder = /^folder=(.*)$/m.exec(script)?.[1];
  assert.equal(entrypoint, `${folder}/start`);
  assert.match(script, /^cat >"\$folder\/start" <<'START'$/m);
});

test("the action gives its script what the script reads", () => {
  const action = read(`${ACTION}/action.yml`);
  const script = read(`${ACTION}/start`);
  const inputs = Array.from(
    action.matchAll(/^ {2}(\w+):\n {4}description: \S.*\n {4}default: \S/gm),
    ([, name]) => name,
  );
  assert.deepEqual(inputs, ["version", "options"]);
  assert.deepEqual(
    Array.from(action.matchAll(/\$\{\{ inputs\.(\w+) \}\}/g), ([, name]) => name),
    inputs,
  );
  const given = Array.from(action.matchAll(/^ {8}([A-Z]+): /gm), ([, name]) => name);
  const own = ["RUNNER_TEMP", "GITHUB_ENV"];
  const used = new Set(Array.from(script.matchAll(/\$\{?([A-Z_]+)/g), ([, name]) => name));
  assert.deepEqual([...used].sort(), [...given, ...own].sort());
  assert.match(action, /^ {6}run: '"\$GITHUB_ACTION_PATH\/start"'$/m);
});

test("shells read the scripts for actions and dev containers", () => {
  for (const [shell, path] of [
    ["bash", `${ACTION}/start`],
    ["sh", `${FEATURE}/install.sh`],
  ] as const) {
    const { status, stderr } = spawnSync(shell, ["-n", path], { encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""], path);
    assert.equal(statSync(path).mode & 0o111, 0o111, path);
  }
});
