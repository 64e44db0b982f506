/** Message bodies that are damaged on disk, in files that no start replays: larder reports them and continues. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { runHere } from "../harness/command-runner.ts";
import { type RecordingDestination, startDestination } from "../harness/recording-destination.ts";
import { oneThread, type ProgramProcess, type RunningProgram, spawnProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;
/** The most requests that wait for a state. */
const LOOKS_MAX = 5_000;
const BODY_DAMAGED = "The body is damaged on the disk of the server and cannot be read";

interface Letter {
  readonly dlqId: string;
  readonly url: string;
  readonly body?: string;
  readonly bodyError?: string;
  readonly responseBody?: string;
}

/** A data directory before its damage. */
interface Stored {
  readonly directory: string;
  /** Those of a start on the directory. */
  readonly args: readonly string[];
  /** The covered segment. */
  readonly path: string;
  readonly ids: readonly string[];
  readonly token: string | undefined;
}

let destination: RecordingDestination;
/** The tests damage copies of it. */
let whole: Stored;

before(
  async () => {
    destination = await startDestination();
    whole = await store(mkdtempSync(join(tmpdir(), "larder-test-")));
  },
  { timeout },
);

after(async () => {
  rmSync(whole.directory, { recursive: true });
  await destination[Symbol.asyncDispose]();
});

function clientOf({ environment }: RunningProgram, token = environment["QSTASH_TOKEN"]) {
  const send = async (line: string, options: { headers?: Record<string, string>; body?: string } = {}) => {
    const [method = "", path = ""] = line.split(" ");
    const authorization = `Bearer ${token}`;
    const headers = { authorization, ...options.headers };
    const init = { method, headers, ...(options.body !== undefined && { body: options.body }) };
    const reply = await fetch(`${environment["QSTASH_URL"]}${path}`, init);
    return { status: reply.status, json: (await reply.json()) as Record<string, unknown> };
  };
  const letters = async (count: number): Promise<readonly Letter[]> => {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { status, json } = await send("GET /v2/dlq");
      assert.equal(status, 200, JSON.stringify(json));
      const messages = json["messages"] as Letter[];
      if (messages.length === count) return messages;
    }
    return assert.fail(`there were never ${count} dead letters`);
  };
  return { send, letters };
}

async function ended(program: ProgramProcess): Promise<{ code: number | null; output: string; log: string }> {
  const { code } = await program.ended;
  return { code, output: program.output, log: program.log };
}

const larder = (...words: readonly string[]) => ended(spawnProgram(words));

/** Two dead letters and two messages of a paused queue, with their bodies in a segment that a snapshot covers. */
async function store(directory: string): Promise<Stored> {
  destination.answer = ({ address }) => ({ status: address.includes("failed") ? 500 : 200 });
  const args = argsOn(directory);
  const ids: string[] = [];
  let token: string | undefined;
  {
    await using program = await startProgram("serve", { args });
    token = program.environment["QSTASH_TOKEN"];
    const { send, letters } = clientOf(program);
    await send("POST /v2/queues/orders/pause");
    for (const body of ["letter-one", "letter-two"]) {
      await send("POST /v2/publish/https://failed.test/?service-retries=0", { body });
    }
    for (const body of ["queued-one", "queued-two"]) {
      const { json } = await send("POST /v2/enqueue/orders/https://queued.test/", { body });
      ids.push(String(json["messageId"]));
    }
    await letters(2);
    // A listing waits until the log of messages has everything so far, so that no later start reads it from the journal.
    assert.equal((await send("GET /v2/logs")).status, 200);
  }
  // This start begins the second segment; the snapshot then covers the first.
  await (await startProgram("serve", { args })).stop();
  assert.equal((await larder("internal-snapshot", directory, "messaging")).code, 0);
  const [segment = ""] = readdirSync(join(directory, "messaging")).filter((name) => name.endsWith(".journal"));
  return { directory, args, path: join(directory, "messaging", segment), ids, token };
}

function argsOn(directory: string): readonly string[] {
  return ["--data-dir", directory, "--outbound-map", `*.test=127.0.0.1:${destination.port}`, ...oneThread];
}

function copyOf(stored: Stored, context: TestContext): Stored {
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(stored.directory, directory, { recursive: true, preserveTimestamps: true });
  return { ...stored, directory, args: argsOn(directory), path: join(directory, "messaging", basename(stored.path)) };
}

function flip(path: string, text: string): void {
  const bytes = readFileSync(path);
  const offset = bytes.indexOf(text);
  assert.ok(offset > 0, `${text} is in the file`);
  bytes[offset] = (bytes[offset] as number) ^ 1;
  writeFileSync(path, bytes);
}

test("C.bodies: the start and verify find a damaged body; it is shown as damaged and hides no other body", {
  timeout,
}, async (context) => {
  const { directory, args, path, ids, token } = copyOf(whole, context);
  assert.equal((await runHere(["verify", directory])).code, 0);
  flip(path, "letter-one");
  flip(path, "queued-one");

  const verified = await runHere(["verify", directory]);
  assert.equal(verified.code, 1);
  assert.match(
    verified.log,
    /messaging starts, but bodies of messages are lost: .*0000000001\.journal is damaged at byte/,
  );

  await using program = await startProgram("serve", { args });
  await program.untilPrinted(/a body is damaged on the disk/);
  await program.untilPrinted(/damaged journal files were checked.*2/);
  const { send, letters } = clientOf(program, token);
  const shown = (await letters(2)).map(({ body, bodyError }) => [body, bodyError]);
  assert.deepEqual(new Set(shown.map(String)), new Set([`,${BODY_DAMAGED}`, "letter-two,"]));
  const metrics = await (await fetch(`${program.adminUrl}/metrics`)).text();
  assert.match(metrics, /^larder_messaging_damaged_bodies(?:\{[^}]*\})? 2$/m);
  const message = await send(`GET /v2/messages/${ids[0]}`);
  assert.deepEqual([message.status, message.json["bodyError"]], [200, BODY_DAMAGED]);

  // Its message fails permanently, and the queue continues with the next message.
  await send("POST /v2/queues/orders/resume");
  const all = await letters(3);
  const failed = all.find(({ url }) => url.includes("queued"));
  assert.deepEqual([failed?.responseBody, failed?.bodyError], [BODY_DAMAGED, BODY_DAMAGED]);
  const received = await destination.arrived(3);
  assert.equal(received[2]?.body, "queued-two");

  // A retry of all skips the damaged letter; a retry by id refuses it.
  destination.answer = () => ({ status: 200 });
  const retried = await send("POST /v2/dlq/retry");
  assert.equal((retried.json["responses"] as unknown[]).length, 1);
  const rest = await letters(2);
  const refused = await send(`POST /v2/dlq/retry/${rest[0]?.dlqId}`);
  assert.equal(refused.status, 400);
  assert.match(
    String(refused.json["error"]),
    /^Invalid value for dlqId: the data of the dead letter .* is damaged on the disk/,
  );
});

test("the log of messages skips damaged bodies that it had not read, and has all other messages", {
  timeout,
}, async (context) => {
  const { directory, args, path, ids, token } = copyOf(whole, context);
  // Without its file, the log is read from the journal again.
  rmSync(join(directory, "messaging", "history.sqlite"));
  flip(path, "queued-one");

  for (const start of ["first", "second"]) {
    await using program = await startProgram("serve", { args });
    const { send } = clientOf(program, token);
    const { status, json } = await send("GET /v2/logs");
    assert.equal(status, 200, start);
    const logged = new Set((json["logs"] as { messageId: string }[]).map(({ messageId }) => messageId));
    assert.deepEqual([logged.has(String(ids[0])), logged.has(String(ids[1]))], [false, true], start);
    assert.equal(logged.size, 3, start);
    if (start === "first") {
      await program.untilPrinted(
        /the history has a gap, because its journal is damaged.*0000000001\.journal is damaged at byte/,
      );
    }
  }
});

test("the start and verify find a missing file of bodies, and the start continues", {
  timeout,
}, async (context) => {
  const { directory, args, path, token } = copyOf(whole, context);
  rmSync(path);

  const verified = await runHere(["verify", directory]);
  assert.equal(verified.code, 1);
  assert.match(verified.log, /0000000001\.journal is missing: it holds bodies that are still needed/);

  await using program = await startProgram("serve", { args });
  await program.untilPrinted(/the journal file is missing/);
  const { letters } = clientOf(program, token);
  assert.deepEqual(
    (await letters(2)).map(({ bodyError }) => bodyError),
    [BODY_DAMAGED, BODY_DAMAGED],
  );
});

test("the start finds a truncated file of bodies", { timeout }, async (context) => {
  const { args, path, token } = copyOf(whole, context);
  writeFileSync(path, readFileSync(path).subarray(0, -1));

  await using program = await startProgram("serve", { args });
  await program.untilPrinted(/it does not end with the mark of a closed segment/);
  const { letters } = clientOf(program, token);
  assert.deepEqual((await letters(2)).map(({ body }) => body).sort(), ["letter-one", "letter-two"]);
});
