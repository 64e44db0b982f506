/**
 * Question: can PostgreSQL be the journal of a shard, and how do old segments
 * leave it: by TRUNCATE of one of three tables in turn, or by DELETE from one?
 *
 * Method: PostgreSQL with its defaults on this machine, alone or with a standby
 * that each commit waits for; one connection. Each append is one statement that locks and
 * compares the epoch of the shard (cluster/log-forms.ts). `largest rate` appends rows of one size as fast
 * as each commit allows, for both forms in turn. `at a rate` appends rows of 2 to 64 KB, 300 a second,
 * and removes segments as a snapshot would cover them; once more beside another
 * connection whose transaction is open for the whole time, as a dump or a forgotten session would
 * be, so that nothing that was deleted can be vacuumed. Forms take turns; medians [min to max] of the rounds.
 *
 * Read: `WAL` is bytes of write-ahead log for each byte of a row. `size` is that of all
 * tables at the end; `PostgreSQL` its processor time for each append, helpers included. `removal` is the
 * time that appends of the shard wait when segments are removed.
 *
 * Run: npm run bench -- cluster [--seconds 30] [--rounds 5] [--quick] [--directory <folder for the databases>]
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { createShard, deleteForm, type LogForm, ringForm } from "./cluster/log-forms.ts";
import { load, quantile } from "./cluster/log-load.ts";
import { machineFacts } from "./harness/machine.ts";
import { spreadOf } from "./harness/statistics.ts";
import { spreadText, table } from "./harness/table.ts";
import { hasPostgres, type PostgresPeer, startPostgres, startStandby } from "./peers/postgres.ts";

const ROW_BYTES = [2_048, 4_096, 8_192, 16_384, 32_768, 65_536];
const SINGLE_ROW_BYTES = [200, 4_096, 65_536, 262_144];
const APPENDS_PER_SECOND = 300;
const SEGMENT_BYTES = 8 * 1024 * 1024;
const SEGMENTS_OF_TABLE = 4;
const SINGLE_SECONDS = 2;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    rounds: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    directory: { type: "string", default: tmpdir() },
  },
});
const seconds = options.quick ? 5 : Number(options.seconds);
const rounds = options.quick ? 1 : Number(options.rounds);

interface Measured {
  readonly p50: number;
  readonly p99: number;
  readonly removal: number;
  readonly wal: number;
  readonly megabytes: number;
  readonly cpu: number;
}

const COLUMNS: readonly (readonly [string, (measured: Measured) => number])[] = [
  ["append p50 ms", ({ p50 }) => p50],
  ["p99 ms", ({ p99 }) => p99],
  ["longest removal ms", ({ removal }) => removal],
  ["WAL", ({ wal }) => wal],
  ["size MB", ({ megabytes }) => megabytes],
  ["PostgreSQL ms", ({ cpu }) => cpu],
];

async function connected<Result>(connection: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: connection });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

function formsOf(client: Client): readonly LogForm[] {
  return [ringForm(client, SEGMENTS_OF_TABLE), deleteForm(client)];
}

async function walPosition(client: Client): Promise<number> {
  const text = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes";
  return (await client.query<{ bytes: number }>(text)).rows[0]?.bytes ?? 0;
}

/** One form, fresh tables. */
async function measure(postgres: PostgresPeer, index: number): Promise<Measured> {
  return connected(postgres.connection, async (client) => {
    await createShard(client);
    const form = formsOf(client)[index] as LogForm;
    await form.create();
    await client.query("CHECKPOINT");
    const walBefore = await walPosition(client);
    const cpuBefore = postgres.cpuMs();
    const { appends, bytes, appendMs, removalMs } = await load(form, {
      seconds,
      appendsPerSecond: APPENDS_PER_SECOND,
      rowBytes: ROW_BYTES,
      segmentBytes: SEGMENT_BYTES,
    });
    return {
      p50: quantile(appendMs, 0.5),
      p99: quantile(appendMs, 0.99),
      removal: removalMs.at(-1) ?? Number.NaN,
      wal: ((await walPosition(client)) - walBefore) / bytes,
      megabytes: (await form.bytes()) / 2 ** 20,
      cpu: (postgres.cpuMs() - cpuBefore) / appends,
    };
  });
}

/** Both forms in turn, beside an open transaction if `isHeld`. */
async function measureAtRate(postgres: PostgresPeer, isHeld: boolean): Promise<string[][]> {
  const results = new Map<string, Measured[]>();
  const names = await connected(postgres.connection, async (client) => formsOf(client).map(({ name }) => name));
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < names.length; i += 1) {
      // The order changes from round to round.
      const index = (i + round) % names.length;
      const measured = await connected(postgres.connection, async (holder) => {
        if (!isHeld) return measure(postgres, index);
        await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
        const held = await measure(postgres, index);
        await holder.query("COMMIT");
        return held;
      });
      const name = names[index] as string;
      results.set(name, [...(results.get(name) ?? []), measured]);
    }
  }
  return names.map((name) => [
    isHeld ? `${name}, transaction open` : name,
    ...COLUMNS.map(([, read]) => spreadText(spreadOf((results.get(name) ?? []).map(read)))),
  ]);
}

/** Appends as fast as each commit allows: a second, its median and its 99th percentile. */
async function measureLargestRate(postgres: PostgresPeer): Promise<string[][]> {
  const rows: string[][] = [];
  for (const bytes of SINGLE_ROW_BYTES) {
    const rates: number[] = [];
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await connected(postgres.connection, async (client) => {
        await createShard(client);
        const form = deleteForm(client);
        await form.create();
        const row = Buffer.alloc(bytes, "larder ");
        const startMs = performance.now();
        let count = 0;
        for (let start = 0; performance.now() - startMs < SINGLE_SECONDS * 1_000; count += 1, start += bytes) {
          const beganMs = performance.now();
          await form.append({ segment: 1, start, before: start - bytes, bytes: row });
          times.push(performance.now() - beganMs);
        }
        rates.push(count / SINGLE_SECONDS);
      });
    }
    times.sort((a, b) => a - b);
    const milliseconds = [quantile(times, 0.5).toFixed(2), quantile(times, 0.99).toFixed(2)];
    rows.push([`${bytes} bytes`, spreadText(spreadOf(rates)), ...milliseconds]);
  }
  return rows;
}

async function report(title: string, postgres: PostgresPeer): Promise<void> {
  console.log(`\n## ${title}\n`);
  console.log(table(["largest rate", "appends/s", "p50 ms", "p99 ms"], await measureLargestRate(postgres)));
  const rows = [...(await measureAtRate(postgres, false)), ...(await measureAtRate(postgres, true))];
  console.log(`\n${table(["at a rate", ...COLUMNS.map(([name]) => name)], rows)}`);
}

if (!hasPostgres) {
  console.error("PostgreSQL is not installed (apt-get install postgresql, or its name on your system)");
  process.exit(1);
}
const parent = mkdtempSync(join(options.directory, "larder-cluster-"));
// PostgreSQL runs as another user than root.
chmodSync(parent, 0o755);
try {
  for (const fact of machineFacts(new Date())) console.log(`- ${fact}`);
  const primary = await startPostgres(parent);
  await report("One PostgreSQL", primary);
  const standby = await startStandby(parent, primary);
  await connected(primary.connection, async (client) => {
    await client.query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
    await client.query("SELECT pg_reload_conf()");
  });
  await report("With a standby that each commit waits for", primary);
  await standby.stop();
  await primary.stop();
} finally {
  rmSync(parent, { recursive: true, force: true });
}
