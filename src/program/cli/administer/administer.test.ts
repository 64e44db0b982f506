/** The commands that administer a running server, which runs in this process. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readCommand, runCommand } from "../../../../test/harness/command-runner.ts";
import { RawPeer } from "../../../../test/harness/raw-peer.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { Server } from "../../server.ts";
import { stderrLog } from "../../stderr.ts";
import type { Addresses } from "../env-block.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-administer-"));
const dataDirectory = join(folder, "data");
let server: Server;
let addresses: Addresses;
let closing: Promise<void> | undefined;

before(async () => {
  const ports = ["store", "vector", "messaging", "admin"].map((area) => `--${area}-port 0`).join(" ");
  const { run } = readCommand(`serve --threads one --resp-port 0 ${ports}`, dataDirectory);
  server = new Server({
    run,
    version: "1.2.3",
    log: stderrLog("error", "text"),
    logFormat: "text",
    clock: systemClock,
    onCrash: () => {},
    onStopRequest: () => {
      closing = server.close();
    },
  });
  addresses = await server.open();
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const larder = (words: string) => runCommand(words, dataDirectory);

/** The table that a command prints, with `#` for the number in its last column. */
async function tableOf(words: string): Promise<string> {
  const [code, output] = await larder(words);
  assert.equal(code, 0);
  return output.replaceAll(/ +\d+$/gm, " #");
}

test("larder status prints the state, the process and the addresses", async () => {
  const [code, output] = await larder("status");
  assert.equal(code, 0);
  assert.deepEqual(output.split("\n"), [
    "state           ready",
    "version         1.2.3",
    "command         larder serve",
    `process         ${process.pid}`,
    `data directory  ${dataDirectory}`,
    `store           ${addresses.store}  serving`,
    `vector          ${addresses.vector}  serving`,
    `messaging       ${addresses.messaging}  serving`,
    `admin           ${addresses.admin}`,
    `resp            ${addresses.resp?.host}`,
  ]);
});

test("larder status prints JSON", async () => {
  const [code, output] = await larder("status --json");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(output), {
    state: "ready",
    version: "1.2.3",
    command: "larder serve",
    pid: process.pid,
    dataDirectory,
    addresses: { ...addresses },
    areas: { store: "serving", vector: "serving", messaging: "serving" },
    reasons: [],
  });
});

test("creates, lists and removes a database, and prints and replaces its tokens", async () => {
  const [created, output] = await larder("db create sessions");
  assert.equal(created, 0);
  const token = /^token +(\S{43})$/m.exec(output)?.[1] ?? "";
  assert.match(output, /^name {11}sessions$/m);
  assert.equal(
    await tableOf("db list"),
    "name      source          bytes\nmain      data directory #\nsessions  data directory #",
  );
  const [, printed] = await larder("db token sessions --json");
  assert.equal(JSON.parse(printed).token, token);
  const [, replaced] = await larder("db token sessions --reset --json");
  assert.notEqual(JSON.parse(replaced).token, token);
  assert.deepEqual(await larder("db remove sessions"), [0, "removed the database sessions"]);
  const [main, ...others] = JSON.parse((await larder("db list --json"))[1]) as { memoryBytes: number }[];
  assert.deepEqual(
    [{ ...main, memoryBytes: 0 }, ...others],
    [{ name: "main", source: "data directory", memoryBytes: 0 }],
  );
});

test("creates an index by its description, and lists it", async () => {
  const words = "--type HYBRID --dimension 8 --similarity DOT_PRODUCT --embedding m --provider hashing";
  assert.equal((await larder(`index create docs ${words} --sparse-embedding BM25 --recall 0.95 --rows disk`))[0], 0);
  assert.equal(
    await tableOf("index list"),
    `name  source          type    dimension  similarity   embedding  sparse embedding  recall target  rows  bytes
main  data directory  DENSE   auto       COSINE       -          -                 -              - #
docs  data directory  HYBRID  8          DOT_PRODUCT  m          BM25              0.95           disk #`,
  );
});

test("larder index namespaces lists all namespaces, and those whose names begin with a text", async () => {
  const token = server.tenants.indexes[0]?.token.value ?? "";
  for (const namespace of ["", "a1", "b", "a2"]) {
    const body = JSON.stringify({ id: "r", vector: [1, 2] });
    const headers = { authorization: `Bearer ${token}` };
    assert.ok((await fetch(`${addresses.vector}/upsert/${namespace}`, { method: "POST", headers, body })).ok);
  }
  assert.equal(
    await tableOf("index namespaces main"),
    "name  records  pending  bytes\n-     1        0 #\na1    1        0 #\nb     1        0 #\na2    1        0 #",
  );
  assert.equal(
    await tableOf("index namespaces main --prefix a"),
    "name  records  pending  bytes\na1    1        0 #\na2    1        0 #",
  );
  const listed: readonly { memoryBytes: number }[] = JSON.parse((await larder("index namespaces main --json"))[1]);
  const indexes: readonly { name: string; memoryBytes: number }[] = JSON.parse((await larder("index list --json"))[1]);
  const sum = listed.reduce((total, { memoryBytes }) => total + memoryBytes, 0);
  assert.equal(sum, indexes.find(({ name }) => name === "main")?.memoryBytes);
  assert.deepEqual(await larder("index namespaces none"), [1, "There is no index none"]);
});

test("the admin port lists namespaces page by page, which stay in their places while others go", async () => {
  const authorization = `Bearer ${server.tenants.adminToken.value}`;
  const pageAfter = async (cursor: string): Promise<readonly unknown[]> => {
    const url = `${addresses.admin}/v1/indexes/main/namespaces?prefix=a&count=1${cursor}`;
    const { namespaces, cursor: next } = (await (await fetch(url, { headers: { authorization } })).json()) as {
      readonly namespaces: readonly { readonly name: string }[];
      readonly cursor?: string;
    };
    return [next, ...namespaces.map(({ name }) => name)];
  };
  const [cursor, first] = await pageAfter("");
  assert.equal(first, "a1");
  const headers = { authorization: `Bearer ${server.tenants.indexes[0]?.token.value}` };
  assert.ok((await fetch(`${addresses.vector}/delete-namespace/a1`, { method: "DELETE", headers })).ok);
  assert.deepEqual(await pageAfter(`&cursor=${cursor}`), [undefined, "a2"]);
});

test("a user has signing keys besides its tokens", async () => {
  const [, output] = await larder("user token main --json");
  assert.deepEqual(Object.keys(JSON.parse(output)), [
    "name",
    "token",
    "readOnlyToken",
    "currentSigningKey",
    "nextSigningKey",
  ]);
});

test("prints the errors of the admin API unchanged", async () => {
  const refusals: [string, string][] = [
    ["db remove none", "There is no database none"],
    ["db token none --reset", "There is no database none"],
    ["db create main", "The database main already exists"],
    [
      "index create other --dimension many",
      'Invalid index: dimension is neither a whole number from 1 to 5376 nor "auto"',
    ],
  ];
  for (const [words, message] of refusals) assert.deepEqual(await larder(words), [1, message], words);
});

test("larder audit prints the newest entries that pass its filters, and the errors of the admin API", async () => {
  const [code, output] = await larder("audit --action databases. --outcome done --count 2");
  assert.equal(code, 0);
  assert.deepEqual(
    output.split("\n").map((each) => each.replace(/^\S+Z? +/, "").replace(/ +/g, " ")),
    [
      "action subject caller outcome reason",
      "databases.delete sessions 127.0.0.1 done -",
      "databases.reset-password sessions 127.0.0.1 done -",
    ],
  );
  const [, started] = await larder("audit --action start --json");
  const [{ time, ...start }] = JSON.parse(started);
  assert.match(time, /^2\d{3}-/);
  assert.deepEqual(start, { action: "start", subject: "1.2.3", caller: "server", outcome: "done" });
  assert.deepEqual(await larder("audit --count none"), [
    1,
    'Invalid value for count: "none" is not a whole number from 1 to 1000',
  ]);
});

test("S-09: config print --running prints the settings of the server, and of secrets only whether they are set", async () => {
  const [code, output] = await larder("config print --running --json");
  assert.equal(code, 0);
  const settings: readonly { name: string; isSecret: boolean; [fact: string]: unknown }[] = JSON.parse(output).settings;
  assert.deepEqual(
    settings.find(({ name }) => name === "storePort"),
    {
      ...{ name: "storePort", value: 0, source: "flag", place: "--store-port", default: 8079 },
      ...{ group: "Addresses", form: "<port>", isSecret: false, flag: "--store-port", fileKey: "storePort" },
      ...{ meaning: "Port of the store; 0 means any free port, here and for every other port" },
      environment: ["LARDER_STORE_PORT"],
    },
  );
  const secrets = settings.filter(({ isSecret }) => isSecret).map(({ name, value }) => `${name} ${value}`);
  assert.ok(secrets.includes("LARDER_ADMIN_TOKEN not set"), secrets.join());
  assert.match((await larder("config print --running"))[1], /^storePort +0 +flag --store-port$/m);
});

test("larder problems prints the warnings and errors that the server logged", async () => {
  const nothing = "# the server has logged no warning and no error since its start";
  assert.deepEqual(await larder("problems"), [0, nothing]);
  const fields = { area: "store", reason: "no space left" };
  server.problem({ atMs: 0, level: "warn", message: "writes are refused", fields });
  assert.deepEqual(await larder("problems"), [
    0,
    `time                      level  area   count  message
1970-01-01T00:00:00.000Z  warn   store  1      writes are refused reason=no space left`,
  ]);
});

test("larder clients prints the clients of the RESP port, and ends the connection of one", async () => {
  assert.deepEqual(await larder("clients"), [
    0,
    "# no client is logged in over RESP; --resp-port of the server opens that port",
  ]);
  const token = server.tenants.databases[0]?.token.value ?? "";
  using peer = await RawPeer.open(Number(addresses.resp?.host.split(":")[1]));
  assert.equal(await peer.ask(`AUTH ${token}\r\nCLIENT SETNAME worker-1\r\n`, 10), "+OK\r\n+OK\r\n");
  const address = `127.0.0.1:${peer.socket.localPort}`;
  const [code, output] = await larder("clients --database main --user default --name worker");
  assert.equal(code, 0);
  assert.deepEqual(
    output.split("\n").map((each) => each.replace(/ +/g, " ").replaceAll(/ \d+s/g, " 0s")),
    [
      "id database user name address library age idle state command bytes",
      `1 main default worker-1 ${address} - 0s 0s - client|setname 0`,
    ],
  );
  assert.equal(JSON.parse((await larder("clients --json"))[1])[0].address, address);
  assert.deepEqual(await larder("clients --kill 1"), [0, "ended the connection of client 1"]);
  assert.equal(await peer.hearAll(), "");
  assert.deepEqual(await larder("clients --kill 1"), [1, "There is no client 1"]);
  assert.deepEqual(await larder("clients --kill one"), [
    1,
    'Invalid value for id: "one" is not the id of a client, a whole number from 1',
  ]);
  assert.deepEqual(await larder("clients --database none"), [1, "There is no database none"]);
  const [, audited] = await larder("audit --action clients. --outcome done --json");
  assert.deepEqual(
    JSON.parse(audited).map(({ action, subject }: Record<string, string>) => [action, subject]),
    [["clients.kill", "1"]],
  );
});

test("larder stop waits until the server has ended, and larder status then reports it", async () => {
  assert.deepEqual(await larder("stop"), [0, `stopped: no larder uses ${dataDirectory}`]);
  await closing;
  assert.deepEqual(await larder("status"), [1, `not running: no larder uses ${dataDirectory}`]);
  const text = `No larder is running on ${dataDirectory}: start it, or inspect the directory with larder check`;
  assert.deepEqual(await larder("stop"), [1, text]);
  assert.deepEqual(await larder("db list"), [1, text]);
});
