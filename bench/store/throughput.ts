/**
 * Requests per second and their latency: every subject under every workload,
 * several rounds in alternating order, so that other load of the machine
 * affects all of them equally.
 */
import { connect } from "node:net";
import { CONNECTIONS, runLoad } from "../harness/http-load.ts";
import { RawClient } from "../harness/raw-client.ts";
import { median, type Spread, spreadOf } from "../harness/statistics.ts";
import { hasRedisBenchmark, runRedisBenchmark, startRedis } from "../peers/redis.ts";
import { type Place, type RunningSubject, type Subject, subjects } from "./subjects.ts";
import { type Workload, workloads } from "./workloads.ts";

export interface Plan {
  readonly place: Place;
  readonly rounds: number;
  readonly seconds: number;
  /** Only rows whose name contains this. */
  readonly only: string;
  readonly log: (line: string) => void;
}

export interface ThroughputRow {
  readonly subject: string;
  readonly workload: string;
  readonly requestsPerSecond: Spread;
  readonly commandsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of core 0 that the subject's processes used; undefined if the system does not report it. */
  readonly serverShare: number | undefined;
  readonly failed: number;
}

interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverShare: number | undefined;
  readonly failed: number;
}

const WARM_UP_SECONDS = 1;
/** Before the first workload of a server: until then it compiles its code, on the core that serves. */
const FIRST_WARM_UP_SECONDS = 4;

export async function measureThroughput(plan: Plan): Promise<readonly ThroughputRow[]> {
  const samples = new Map<string, Sample[]>();
  const rows: { subject: string; workload: string; commandsPerRequest: number }[] = [];
  const note = (row: (typeof rows)[number], sample: Sample): void => {
    const name = `${row.subject}: ${row.workload}`;
    if (!samples.has(name)) rows.push(row);
    samples.set(name, [...(samples.get(name) ?? []), sample]);
    plan.log(`${name}: ${Math.round(sample.perSecond)} requests/s, p99 ${sample.p99Ms.toFixed(1)} ms`);
  };
  for (let round = 0; round < plan.rounds; round += 1) {
    // Every other round backwards, so that no subject always runs first or last.
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      if (subject.missing !== undefined) {
        if (round === 0) plan.log(`${subject.name} left out: ${subject.missing}`);
        continue;
      }
      const wanted = workloads.filter(({ name }) => `${subject.name}: ${name}`.includes(plan.only));
      if (wanted.length === 0) continue;
      const server = await subject.start(plan.place);
      try {
        const ordered = round % 2 === 0 ? wanted : wanted.toReversed();
        await warmUp(server, subject, ordered);
        for (const workload of ordered) {
          const sample = await measureOne(server, { subject, workload, seconds: plan.seconds });
          const { name, commandsPerRequest } = workload;
          if (sample !== undefined) note({ subject: subject.name, workload: name, commandsPerRequest }, sample);
        }
      } finally {
        await server.stop();
      }
    }
    if (hasRedisBenchmark) await measureRedis(plan, note);
    else if (round === 0) plan.log("redis-benchmark left out: it is not installed");
  }
  return rows.map(({ subject, workload, commandsPerRequest }) => {
    const all = samples.get(`${subject}: ${workload}`) ?? [];
    const requestsPerSecond = spreadOf(all.map(({ perSecond }) => perSecond));
    const shares = all.flatMap(({ serverShare }) => (serverShare === undefined ? [] : [serverShare]));
    return {
      subject,
      workload,
      requestsPerSecond,
      commandsPerSecond: requestsPerSecond.median * commandsPerRequest,
      p50Ms: median(all.map(({ p50Ms }) => p50Ms)),
      p99Ms: median(all.map(({ p99Ms }) => p99Ms)),
      serverShare: shares.length === 0 ? undefined : median(shares),
      failed: all.reduce((sum, { failed }) => sum + failed, 0),
    };
  });
}

/** Sends the first requests that the subject knows until its code is compiled. */
async function warmUp({ port }: RunningSubject, { dialect }: Subject, ordered: readonly Workload[]): Promise<void> {
  const requests = ordered.map((workload) => workload.requests(dialect)).find((each) => each !== undefined);
  if (requests !== undefined) await runLoad({ port, requests, seconds: FIRST_WARM_UP_SECONDS });
}

async function measureOne(
  server: RunningSubject,
  { subject, workload, seconds }: { subject: Subject; workload: Workload; seconds: number },
): Promise<Sample | undefined> {
  const requests = workload.requests(subject.dialect);
  const [first] = requests ?? [];
  if (requests === undefined || first === undefined) return undefined;
  const { port } = server;
  const preparing = workload.prepares?.requests(subject.dialect);
  if (preparing !== undefined) await sendEachOnce(port, preparing);
  await expectSuccess(port, first);
  await runLoad({ port, requests, seconds: WARM_UP_SECONDS });
  const cpuBeforeMs = server.cpuMs();
  const result = await runLoad({ port, requests, seconds });
  const serverShare = (server.cpuMs() - cpuBeforeMs) / result.durationMs;
  return {
    perSecond: (result.requests / result.durationMs) * 1_000,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    serverShare: Number.isNaN(serverShare) ? undefined : serverShare,
    failed: result.failed,
  };
}

async function sendEachOnce(port: number, requests: readonly Buffer[]): Promise<void> {
  const { failure } = await new RawClient({ port, requests, connections: CONNECTIONS, isOnce: true }).done;
  if (failure !== undefined) throw new Error(`a key was not made: ${failure}`);
}

/** A load of refusals would be fast but meaningless. */
async function expectSuccess(port: number, request: Buffer): Promise<void> {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    socket.once("data", (chunk: Buffer) => {
      resolve(chunk.toString("latin1"));
      socket.destroy();
    });
    socket.once("error", reject);
  });
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  if (head.startsWith("HTTP/1.1 200 ") && !/"error"|:null\}/.test(body)) return;
  throw new Error(`${request.toString("latin1", 0, 200)}\nis answered with\n${answer.slice(0, 500)}`);
}

async function measureRedis(
  plan: Plan,
  note: (row: { subject: string; workload: string; commandsPerRequest: number }, sample: Sample) => void,
): Promise<void> {
  const subject = "redis-server over TCP";
  const tests = [1, 16].flatMap((pipelined) =>
    (["set", "get"] as const).map((test) => ({
      test,
      pipelined,
      workload: `${test.toUpperCase()}${pipelined === 1 ? "" : `, ${pipelined} in a batch`}`,
    })),
  );
  const wanted = tests.filter(({ workload }) => `${subject}: ${workload}`.includes(plan.only));
  if (wanted.length === 0) return;
  const redis = await startRedis(plan.place.parent);
  try {
    for (const { test, pipelined, workload } of wanted) {
      const cpuBeforeMs = redis.process.cpuMs();
      const startMs = performance.now();
      const options = { port: redis.port, test, pipelined, connections: CONNECTIONS, valueBytes: 12 };
      const result = runRedisBenchmark({ ...options, seconds: plan.seconds });
      if (result === null) throw new Error("redis-benchmark printed no result");
      const share =
        ((redis.process.cpuMs() ?? Number.NaN) - (cpuBeforeMs ?? Number.NaN)) / (performance.now() - startMs);
      const { perSecond, p50Ms, p99Ms } = result;
      const serverShare = Number.isNaN(share) ? undefined : share;
      note({ subject, workload, commandsPerRequest: 1 }, { perSecond, p50Ms, p99Ms, serverShare, failed: 0 });
    }
  } finally {
    await redis.stop();
  }
}
