/** Connections that are cut at every byte of an append, and of the connection that follows. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { type Append, DoubtfulOutcome } from "../../../src/cluster/log-store/log-store.ts";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA } from "../../../src/cluster/postgres/schema.ts";
import { CuttingProxy, type Direction } from "../../harness/cutting-proxy.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";

const skip = missingProgram("postgres");
/** Every byte in a proof; otherwise some, which differ between the two directions. */
const STEPS: Readonly<Record<Direction, number>> =
  process.env["LARDER_TEST_SIZE"] === "proof"
    ? { "to the server": 1, "to the client": 1 }
    : { "to the server": 17, "to the client": 5 };

/** Its bytes are ten times those of an append. */
const STEPS_OF_A_CONNECTION = process.env["LARDER_TEST_SIZE"] === "proof" ? 1 : 4;

let postgres: PostgresProcess;
let admin: Client;
let proxy: CuttingProxy;
let session: PgSession;
let store: PostgresLogStore;
let shard = 0;

before(async () => {
  if (skip !== false) return;
  postgres = await startPostgres(["fsync=off"]);
  admin = new Client({ connectionString: postgres.connectionString });
  await admin.connect();
  await admin.query(SCHEMA);
  const url = new URL(postgres.connectionString);
  proxy = await CuttingProxy.start(Number(url.port));
  url.port = `${proxy.port}`;
  session = new PgSession(async () => {
    const client = new Client({ connectionString: url.href });
    await client.connect();
    return client;
  });
  store = new PostgresLogStore(session);
});

after(async () => {
  if (skip !== false) return;
  await session.close();
  proxy.close();
  await admin.end();
  await postgres.stop();
});

const rowOf = (number: number): Append => ({
  ...{ shard, epoch: 0, segment: 1, start: number * 8, before: Math.max(0, number - 1) * 8 },
  bytes: Buffer.from(String(number).padStart(8, "0")),
});

/** The rows that were appended, as one text. */
async function textOf(count: number): Promise<string> {
  const rows = await store.read(shard, 1, 0, 1_000_000);
  assert.equal(rows.length, count);
  return Buffer.concat(rows.map(({ bytes }) => bytes)).toString();
}

for (const [direction, step] of Object.entries(STEPS) as [Direction, number][])
  test(`an append that is cut after any number of bytes ${direction} is doubtful, and its repetition leaves one row`, {
    skip,
  }, async (context) => {
    shard += 1;
    await store.addShards([{ shard, area: "store", hashSeed: Buffer.alloc(4) }]);
    let number = 0;
    assert.equal(await store.append(rowOf(number)), "committed");
    const beforeBytes = proxy.counts[direction];
    number += 1;
    assert.equal(await store.append(rowOf(number)), "committed");
    const wholeBytes = proxy.counts[direction] - beforeBytes;
    let doubts = 0;
    for (let bytes = 0; bytes < wholeBytes; bytes += step) {
      number += 1;
      proxy.cutAfter(direction, bytes);
      await assert.rejects(store.append(rowOf(number)), DoubtfulOutcome, `cut after ${bytes} bytes`);
      doubts += 1;
      assert.equal(proxy.disarm(), true, `cut after ${bytes} bytes`);
      assert.equal(await store.append(rowOf(number)), "committed", `cut after ${bytes} bytes`);
      // A new connection prepares the statement again; the next one is as long as the first.
      number += 1;
      assert.equal(await store.append(rowOf(number)), "committed");
    }
    assert.equal(doubts, Math.ceil(wholeBytes / step));
    context.diagnostic(`${wholeBytes} bytes, cut ${doubts} times`);
    const expected = Array.from({ length: number + 1 }, (_, i) => String(i).padStart(8, "0")).join("");
    assert.equal(await textOf(number + 1), expected);
  });

for (const [direction, step] of Object.entries(STEPS) as [Direction, number][])
  test(`a connection that is cut while it is made, ${direction}, leaves no doubt that hides a row`, {
    skip,
  }, async () => {
    shard += 1;
    await store.addShards([{ shard, area: "store", hashSeed: Buffer.alloc(4) }]);
    let number = 0;
    assert.equal(await store.append(rowOf(number)), "committed");
    for (let bytes = 0; ; bytes += step * STEPS_OF_A_CONNECTION) {
      await session.close();
      number += 1;
      proxy.cutAfter(direction, bytes);
      const end = await store.append(rowOf(number)).then(
        (outcome) => outcome,
        () => "failed",
      );
      const hasCut = proxy.disarm();
      assert.equal(end, hasCut ? "failed" : "committed", `cut after ${bytes} bytes`);
      if (!hasCut) break;
      assert.equal(await store.append(rowOf(number)), "committed", `cut after ${bytes} bytes`);
    }
    const expected = Array.from({ length: number + 1 }, (_, i) => String(i).padStart(8, "0")).join("");
    assert.equal(await textOf(number + 1), expected);
  });
