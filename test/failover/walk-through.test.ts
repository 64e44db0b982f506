/**
 * "Killing a node while an application runs" in docs/cluster.md: each of its
 * commands, in one shell, with the output that the page shows. Meanwhile other
 * callers of the application add texts, and each one that was accepted is there in
 * the end.
 *
 * Only addresses differ from the page: its loopback addresses become those of a
 * network that no other test uses, and the ports of the application and of
 * PostgreSQL free ones. `sudo` runs the command as the user of the test.
 */
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { seededRandom } from "../../src/kernel/random.ts";
import { freePort } from "../harness/free-port.ts";
import { blocksOf, PageShell } from "../harness/page-commands.ts";
import { type PostgresProcess, postgresPrograms, startPostgres } from "../harness/postgres-process.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { seedFrom } from "../harness/seed.ts";
import { cleanEnvironment, programFile, repositoryRoot } from "../program/program-process.ts";
import { moment } from "../simulation/kill/endings.ts";

const HEADING = "### Killing a node while an application runs";
const PAGE = readFileSync(join(repositoryRoot, "docs/cluster.md"), "utf8");

/** Only Linux has all of 127.0.0.0/8. */
const skip =
  missingProgram("postgres") ||
  missingProgram("haproxy") ||
  missingProgram("curl") ||
  (process.platform !== "linux" && "the loopback addresses 127.0.0.2 to 127.0.0.4 need Linux");

let postgres: PostgresProcess;
let folder: string;
let shell: PageShell;
/** Of the application. */
let port: number;
/** `127.71.9.` */
let network: string;

before(async () => {
  if (skip !== false) return;
  postgres = await startPostgres(["fsync=off"]);
  port = await freePort();
  const random = seededRandom(seedFrom("LARDER_WALK_SEED"));
  network = `127.${1 + random.below(250)}.${random.below(250)}.`;
  folder = mkdtempSync(join(tmpdir(), "larder-walk-"));
  // A clone of the repository whose `bin/` is that of the program under test, without what a reader has left there.
  for (const name of readdirSync(repositoryRoot))
    if (name !== "bin" && name !== "walk") symlinkSync(join(repositoryRoot, name), join(folder, name));
  symlinkSync(dirname(programFile), join(folder, "bin"));
  const programs = join(folder, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "sudo"), '#!/bin/sh\n[ "$1 $2" = "-u postgres" ] || exit 1\nshift 2\nexec "$@"\n');
  chmodSync(join(programs, "sudo"), 0o755);
  const server = new URL(postgres.connectionString);
  const path = [programs, postgresPrograms(), dirname(process.execPath), process.env["PATH"]];
  shell = new PageShell({
    cwd: folder,
    env: {
      ...cleanEnvironment(),
      PATH: path.filter((each) => each !== undefined).join(delimiter),
      ...{ PGHOST: server.hostname, PGPORT: server.port, PGUSER: server.username, PGDATABASE: "postgres" },
    },
  });
});

after(async () => {
  await shell?.stop();
  await postgres?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** The commands with the addresses of this run. */
function local(text: string): string {
  return text
    .replaceAll("127.0.0.", network)
    .replaceAll("@localhost/", `@127.0.0.1:${new URL(postgres.connectionString).port}/`)
    .replaceAll(/\b3000\b/g, String(port));
}

/** A line of a page as a pattern: `…` stands for any text. */
function patternOf(shown: string): RegExp {
  const quoted = shown.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${quoted.join("[^\\n]*")}$`, "m");
}

/** Runs a block. The page shows the output of commands that begin with `$`. */
async function run(block: string): Promise<void> {
  if (!block.startsWith("$ ")) {
    const { code } = await shell.run(local(block));
    assert.equal(code, 0, `${block}\n${shell.stderr}`);
    return;
  }
  for (const part of block.slice(2).split(/\n\$ /)) {
    const [command = "", ...shown] = part.split("\n");
    const { code, stdout } = await shell.run(local(command));
    assert.equal(code, 0, `${command}\n${stdout}\n${shell.stderr}`);
    for (const line of shown) assert.match(stdout, patternOf(line), command);
  }
}

interface Load {
  /** The ids of texts that the application has accepted. */
  readonly accepted: string[];
  /** Texts that were answered otherwise: they may be there. */
  readonly failed: string[];
  isOver: boolean;
}

/** The application accepts 20 texts a minute from an address. */
const TEXTS_OF_CALLER = 15;
const CALLERS = 3;
const FIRST_ADDRESS = 100;

/** Adds texts until the load is over, from another address before the limit of one is reached. */
async function addTexts(load: Load, caller: number): Promise<void> {
  for (let number = 0; !load.isOver; number += 1) {
    const id = `load-${caller}-${number}`;
    const address = FIRST_ADDRESS + Math.floor(number / TEXTS_OF_CALLER) * CALLERS + caller;
    const status = await post("/texts", { body: JSON.stringify({ id, text: `Text ${number}` }), address });
    (status === 201 ? load.accepted : load.failed).push(id);
    await moment(20);
  }
}

function post(path: string, { body, address }: { body: string; address: number }): Promise<number | undefined> {
  return new Promise((resolve) => {
    const localAddress = `127.0.1.${address}`;
    const sending = request({ host: "127.0.0.1", port, path, method: "POST", localAddress }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    sending.on("error", () => resolve(undefined));
    sending.end(body);
  });
}

test("a reader of docs/cluster.md kills a node, and the application goes on and loses nothing", {
  skip,
  timeout: 240_000,
}, async (context) => {
  const blocks = blocksOf(PAGE, HEADING);
  const kill = blocks.findIndex((block) => block.includes("kill -9"));
  const end = blocks.findIndex((block) => block.includes("DROP DATABASE"));
  assert.ok(kill > 0 && end > kill, "the page kills a node, and removes everything in the end");
  for (const block of blocks.slice(0, kill)) await run(block);

  const load: Load = { accepted: [], failed: [], isOver: false };
  const callers = Promise.all(Array.from({ length: CALLERS }, (_, caller) => addTexts(load, caller)));
  let before = 0;
  try {
    await run(blocks[kill] ?? "");
    before = load.accepted.length;
    for (const block of blocks.slice(kill + 1, end)) await run(block);
  } finally {
    load.isOver = true;
    await callers;
  }
  context.diagnostic(
    `texts accepted ${load.accepted.length}, ${before} up to the takeover; failed ${load.failed.length}`,
  );
  assert.ok(load.accepted.length > before, "texts are accepted after the takeover");
  // A call that was under way on the killed node: its outcome is unknown. Every other one waited.
  assert.ok(load.failed.length <= CALLERS, load.failed.join(" "));

  const token = readFileSync(join(folder, "walk/secrets/larder_store_token"), "utf8").trim();
  const vectorToken = readFileSync(join(folder, "walk/secrets/larder_vector_token"), "utf8").trim();
  const listed = await fetch(`http://${network}1:8079/lrange/texts:new/0/-1`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { result: ids } = (await listed.json()) as { result: readonly string[] };
  assert.deepEqual(
    load.accepted.filter((id) => !ids.includes(id)),
    [],
  );
  const fetched = await fetch(`http://${network}1:8081/fetch`, {
    method: "POST",
    headers: { authorization: `Bearer ${vectorToken}` },
    body: JSON.stringify({ ids: load.accepted }),
  });
  const { result: records } = (await fetched.json()) as { result: readonly ({ id: string } | null)[] };
  assert.deepEqual(
    records.map((record) => record?.id),
    load.accepted,
  );
  for (const block of blocks.slice(end)) await run(block);
});
