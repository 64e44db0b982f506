/**
 * Question: what does the copy of a data directory cost (`--replicate`): processor
 * time, requests and bytes?
 *
 * Method: the program by default, pinned to core 0, without a copy, with one in a
 * directory, and with one in radosgw (Ceph) if that is installed. Loads: none; 1,000
 * SETs a second with values of 100 bytes, whose frames have about 150; and
 * pipelines of 100 of them on 16 connections, as fast as they are answered. Each
 * measurement begins 10 s after the copying began, so the first copy of the
 * directory and the compilation of the code are not in it. The kernel counts the
 * processor time of each thread (`schedstat`), the program its requests and bytes.
 *
 * Read: `thread` is the thread of the copy. `pool` is how much more the threads that
 * read and write files take than without a copy, for each write. `share` is their sum
 * divided by the time of a whole server without a copy. Other threads get a message
 * a second and 60 ns for each sync, and the difference of whole servers varies by more
 * than the copy costs. Requests and bytes for an hour are those of the window,
 * multiplied. At 1,000 writes a second no journal file is closed in it: when it is,
 * its bytes are sent once more. Once an hour a removal adds some lists.
 *
 * Run: npm run build && npm run bench -- copies [--quick] [--only <part of a load>]     (--quick: short windows; writes no results)
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { makeBucket } from "../test/harness/object-stores/make-bucket.ts";
import { startRadosgw } from "../test/harness/object-stores/radosgw-process.ts";
import type { StoreServer } from "../test/harness/object-stores/server-process.ts";
import { httpRequest } from "./harness/http-load.ts";
import { isInstalled, machineFacts } from "./harness/machine.ts";
import { startPinned } from "./harness/pinned-process.ts";
import { RawClient } from "./harness/raw-client.ts";
import { writePart } from "./harness/results-page.ts";
import { figure, table } from "./harness/table.ts";
import { publishedProgram } from "./store/subjects.ts";

const TOKEN = "token-of-the-bench-of-copies";
const ADMIN = "admin-token-of-the-bench-of-copies";
const BUCKET = "larder";
const PER_SECOND = 1_000;
const BATCH = 100;
const CONNECTIONS = 16;
const KEYS = 10_000;
const WARM_UP_MS = 10_000;
const LOOK_MS = 200;
/** A server without a copy has nothing that happens more rarely. */
const PLAIN_SECONDS_MAX = 60;

const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } });
const isQuick = values.quick === true;

interface LoadKind {
  readonly name: string;
  readonly seconds: number;
  readonly requests: readonly Buffer[];
  readonly writesPerRequest: number;
  readonly perSecondMax: number | undefined;
}

const value = "v".repeat(100);
const set = (index: number): readonly string[] => ["SET", `key:${index % KEYS}`, value];
const request = (path: string, body: unknown): Buffer =>
  httpRequest({
    method: "POST",
    path,
    headers: [
      ["host", "localhost"],
      ["authorization", `Bearer ${TOKEN}`],
    ],
    body: JSON.stringify(body),
  });
const loads: readonly LoadKind[] = [
  { name: "idle", seconds: isQuick ? 20 : 600, requests: [], writesPerRequest: 0, perSecondMax: undefined },
  {
    name: "1,000 writes a second",
    seconds: isQuick ? 20 : 420,
    requests: Array.from({ length: KEYS }, (_, index) => request("/", set(index))),
    writesPerRequest: 1,
    perSecondMax: PER_SECOND,
  },
  {
    name: "pipelines",
    seconds: isQuick ? 10 : 30,
    requests: Array.from({ length: KEYS / BATCH }, (_, first) =>
      request(
        "/pipeline",
        Array.from({ length: BATCH }, (_each, index) => set(first * BATCH + index)),
      ),
    ),
    writesPerRequest: BATCH,
    perSecondMax: undefined,
  },
];

/** Processor time by the name of threads, in ms. */
type ThreadTimes = ReadonlyMap<string, number>;

interface Costs {
  readonly seconds: number;
  readonly writes: number;
  readonly threads: ThreadTimes;
  /** Of the copy, by kind. */
  readonly requests: ReadonlyMap<string, number>;
  readonly sentBytes: number;
}

function threadTimes(pid: number): ThreadTimes {
  const times = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const name = readFileSync(`/proc/${pid}/task/${thread}/comm`, "latin1").trim();
    const ns = Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]);
    times.set(name, (times.get(name) ?? 0) + ns / 1e6);
  }
  return times;
}

async function countersOf(port: number): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${ADMIN}` } });
  const text = await response.text();
  return new Map(
    [...text.matchAll(/^larder_replication_(\w+)\{(?:kind|phase)="(\w+)"\} (\S+)$/gm)].map(
      ([, name, kind, number]) => [`${name} ${kind}`, Number(number)] as const,
    ),
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

async function runLoad({ requests, perSecondMax }: LoadKind, port: number, ms: number): Promise<number> {
  if (requests.length === 0) {
    await pause(ms);
    return 0;
  }
  const client = new RawClient({ port, connections: CONNECTIONS, requests, perSecondMax });
  setTimeout(() => client.stop(), ms);
  const { requests: count, failed, failure } = await client.done;
  if (failed > 0) throw new Error(`${failed} requests failed: ${failure}`);
  return count;
}

const parent = mkdtempSync(join(tmpdir(), "larder-copies-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
const program = publishedProgram(parent);

async function measure(load: LoadKind, store: CopyPlace): Promise<Costs> {
  const directory = mkdtempSync(join(parent, "data-"));
  const address = store.makeAddress?.();
  const server = await startPinned({
    command: [
      process.execPath,
      program,
      "serve",
      "--data-dir",
      directory,
      ...(address ? ["--replicate", address] : []),
    ],
    env: {
      ...{ LARDER_STORE_PORT: "0", LARDER_VECTOR_PORT: "0", LARDER_MESSAGING_PORT: "0", LARDER_ADMIN_PORT: "0" },
      ...{ LARDER_STORE_TOKEN: TOKEN, LARDER_ADMIN_TOKEN: ADMIN },
      ...store.environment,
    },
    until: /running at[\s\S]*# admin: /,
  });
  try {
    const portOf = (pattern: RegExp): number => Number(pattern.exec(server.output())?.[1]);
    const port = portOf(/UPSTASH_REDIS_REST_URL="http:\/\/[^"]*:(\d+)"/);
    const admin = portOf(/# admin: http:\/\/[^ ]*:(\d+)/);
    while (address !== undefined && (await countersOf(admin)).get("phase copying") !== 1) await pause(LOOK_MS);
    await runLoad(load, port, WARM_UP_MS);
    const [before, threadsBefore, startMs] = [await countersOf(admin), threadTimes(server.pid), performance.now()];
    const seconds = address === undefined ? Math.min(load.seconds, PLAIN_SECONDS_MAX) : load.seconds;
    const requests = await runLoad(load, port, seconds * 1_000);
    const [threadsAfter, endMs] = [threadTimes(server.pid), performance.now()];
    // Its figures are a second old.
    await pause(2_000);
    const after = await countersOf(admin);
    const grown = (name: string, kind: string): number =>
      (after.get(`${name} ${kind}`) ?? 0) - (before.get(`${name} ${kind}`) ?? 0);
    const kinds = ["put", "get", "list", "delete"];
    return {
      seconds: (endMs - startMs) / 1_000,
      writes: requests * load.writesPerRequest,
      threads: new Map([...threadsAfter].map(([name, ms]) => [name, ms - (threadsBefore.get(name) ?? 0)])),
      requests: new Map(kinds.map((kind) => [kind, grown("requests_total", kind)])),
      sentBytes: grown("sent_bytes_total", "put"),
    };
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

interface CopyPlace {
  readonly name: string;
  /** A new place; undefined: there is no copy. */
  readonly makeAddress?: () => string;
  readonly environment?: Readonly<Record<string, string>>;
}

let placeCount = 0;
const nothing: CopyPlace = { name: "no copy" };
const inDirectory: CopyPlace = {
  name: "directory",
  makeAddress: () => {
    placeCount += 1;
    const directory = join(parent, `copy-${placeCount}`);
    mkdirSync(directory);
    return `file://${directory}`;
  },
};

function inBucket({ query, credentials }: StoreServer): CopyPlace {
  return {
    name: "radosgw",
    environment: credentials,
    makeAddress: () => {
      placeCount += 1;
      return `s3://${BUCKET}/copy-${placeCount}${query}`;
    },
  };
}

const cpuRows: string[][] = [];
const requestRows: string[][] = [];

function sum(times: ThreadTimes): number {
  return [...times.values()].reduce((all, ms) => all + ms, 0);
}

function addRows(load: LoadKind, { name }: CopyPlace, costs: Costs, plain: Costs): void {
  // Idle servers are compared by their seconds.
  const unitOf = ({ writes, seconds }: Costs): number => (writes > 0 ? writes / 1_000 : seconds);
  const of = (each: Costs, thread: string): number => (each.threads.get(thread) ?? 0) / unitOf(each);
  const parts = [of(costs, "copy"), of(costs, "libuv-worker") - of(plain, "libuv-worker")];
  const server = sum(plain.threads) / unitOf(plain);
  const all = parts.reduce((total, part) => total + part, 0);
  const rate = costs.writes === 0 ? "-" : figure(costs.writes / costs.seconds);
  const share = `${((100 * all) / server).toFixed(1)} %`;
  cpuRows.push([`${load.name}, ${name}`, rate, ...[server, ...parts].map((ms) => ms.toFixed(3)), share]);
  const hours = costs.seconds / 3_600;
  const counts = ["put", "list", "get", "delete"].map((kind) => figure((costs.requests.get(kind) ?? 0) / hours));
  requestRows.push([`${load.name}, ${name}`, ...counts, figure(costs.sentBytes / hours / 1e6)]);
}

const radosgw = isInstalled("radosgw") ? await startRadosgw() : undefined;
try {
  if (radosgw !== undefined) await makeBucket(radosgw, BUCKET);
  const places = [inDirectory, ...(radosgw === undefined ? [] : [inBucket(radosgw)])];
  for (const load of loads) {
    if (values.only !== undefined && !load.name.includes(values.only)) continue;
    console.error(load.name);
    // Idle servers do not disturb each other.
    const isIdle = load.requests.length === 0;
    const measured: Costs[] = [];
    if (isIdle) measured.push(...(await Promise.all([nothing, ...places].map((place) => measure(load, place)))));
    else for (const place of [nothing, ...places]) measured.push(await measure(load, place));
    const [plain, ...copied] = measured;
    for (const [index, costs] of copied.entries()) addRows(load, places[index] as CopyPlace, costs, plain as Costs);
  }
} finally {
  await radosgw?.stop();
}

const page = [
  "Processor time: ms for 1,000 writes, or for a second of an idle server.",
  "",
  table(["load, place of the copy", "writes a second", "server", "thread", "pool", "share"], cpuRows),
  "",
  "Requests and MB for an hour.",
  "",
  table(["load, place of the copy", "put", "list", "get", "delete", "MB sent"], requestRows),
].join("\n");
console.log(page);
if (!isQuick && values.only === undefined) {
  const facts = machineFacts(new Date()).map((fact) => `- ${fact}`);
  writePart(["# Copies (`bench/copies.bench.ts`)", "", ...facts, "", page, ""].join("\n"));
}
