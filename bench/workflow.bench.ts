/**
 * Question: how many steps of workflows does larder take per second, what does
 * a step cost at low load, and what do ten thousand runs cost that sleep, or
 * wait for one event?
 *
 * Method: larder on core 0 with its data directory on disk, every step on the
 * disk before it is answered; the application is this process. "raw" is an
 * application that knows nothing but what a delivery carries and answers with
 * one request; "serve()" is the official client's. So many runs are under way
 * at a time, each started when another has ended. A step is one result: fork 20
 * has 20 of them and 41 deliveries. `ms a step` is the time of one run alone,
 * divided by its steps.
 *
 * Read: with serve() the application is what takes most of the time; compare the
 * rows of raw. Differences below 15 % are noise.
 *
 * Run: npm run build && npm run bench -- workflow [--quick] [--program <bin/larder.cjs>]
 *      --quick: runs of 2 s and 1,000 waiting runs; writes no results
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client as MessagingClient } from "@upstash/qstash";
import { serve } from "@upstash/workflow";
import { Pool } from "undici";
import { machineFacts } from "./harness/machine.ts";
import { writePart } from "./harness/results-page.ts";
import { table } from "./harness/table.ts";
import { type LarderServer, startMessaging } from "./messaging/larder.ts";
import { publishedProgram } from "./store/subjects.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean" }, program: { type: "string" } } });
const isQuick = values.quick === true;
const RUN_MS = isQuick ? 2_000 : 8_000;
const WAITING = isQuick ? 1_000 : 10_000;
const TOKEN = Buffer.from('{"UserID":"bench","Password":"that-nobody-else-knows"}').toString("base64");
const SDK = { "upstash-workflow-sdk-version": "1", "upstash-workflow-sdk": "v1" };

interface Shape {
  readonly name: string;
  readonly steps: number;
  readonly isFork: boolean;
  readonly underWay: number;
  readonly isServed?: true;
}

const shapes: readonly Shape[] = [
  { name: "raw, 1 step", steps: 1, isFork: false, underWay: 32 },
  { name: "raw, 10 steps", steps: 10, isFork: false, underWay: 32 },
  { name: "raw, fork of 20", steps: 20, isFork: true, underWay: 8 },
  { name: "serve(), 1 step", steps: 1, isFork: false, underWay: 32, isServed: true },
  { name: "serve(), 10 steps", steps: 10, isFork: false, underWay: 32, isServed: true },
  { name: "serve(), fork of 20", steps: 20, isFork: true, underWay: 8, isServed: true },
];

type Work = (body: string, runId: string, request: IncomingMessage) => Promise<void> | Promise<Response>;

const parent = mkdtempSync(join(tmpdir(), "larder-bench-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
const server = await startMessaging(values.program ?? publishedProgram(parent), join(parent, "data"), {
  history: "second core",
});
const pool = new Pool(`http://127.0.0.1:${server.port}`, { connections: 64 });
let work: Work = async () => {};
let number = 0;
/** Told of each run that ends. */
let ends = (): void => {};
const application = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const runId = String(request.headers["upstash-workflow-runid"]);
    void work(Buffer.concat(chunks).toString(), runId, request).then(async (answer) => {
      const text = answer === undefined ? "" : await answer.text();
      response.writeHead(answer?.status ?? 200, answer === undefined ? SDK : Object.fromEntries(answer.headers));
      response.end(text);
    });
  });
}).listen(0, "127.0.0.1");
await once(application, "listening");
const url = `http://127.0.0.1:${(application.address() as AddressInfo).port}/w`;
const rows: string[][] = [];

for (const shape of shapes) rows.push(await measureShape(server, shape));
const waits = await measureWaits();
const page = [
  "## Workflows",
  "",
  ...machineFacts(new Date()).map((fact) => `- ${fact}`),
  `- runs of ${RUN_MS / 1_000} s`,
  "",
  table(["application", "steps/s", "runs/s", "ms a step, alone", "core 0"], rows),
  "",
  ...waits,
].join("\n");
console.log(page);
if (!isQuick) writePart(page);
await pool.close();
application.close();
application.closeAllConnections();
await server.process.stop();

async function measureShape({ process: larder }: LarderServer, shape: Shape): Promise<string[]> {
  let ended = 0;
  let done = (): void => {};
  work = shape.isServed ? servedWork(shape) : rawWork(shape);
  ends = () => {
    ended += 1;
    done();
  };
  // Alone, behind a few to warm up.
  const alone: number[] = [];
  for (let count = 0; count < 20; count += 1) {
    const startMs = performance.now();
    const ending = new Promise<void>((resolve) => {
      done = resolve;
    });
    await start();
    await ending;
    alone.push((performance.now() - startMs) / shape.steps);
  }
  const endMs = performance.now() + RUN_MS;
  const isOver = Promise.withResolvers<void>();
  let underWay = shape.underWay;
  done = () => {
    if (performance.now() < endMs) void start();
    else {
      underWay -= 1;
      if (underWay === 0) isOver.resolve();
    }
  };
  ended = 0;
  const cpuMs = larder.cpuMs() ?? Number.NaN;
  const startMs = performance.now();
  for (let count = 0; count < shape.underWay; count += 1) void start();
  await isOver.promise;
  const tookMs = performance.now() - startMs;
  const runsPerSecond = (ended / tookMs) * 1_000;
  const share = ((larder.cpuMs() ?? Number.NaN) - cpuMs) / tookMs;
  const sorted = alone.slice(5).sort((a, b) => a - b);
  return [
    shape.name,
    String(Math.round(runsPerSecond * shape.steps)),
    String(Math.round(runsPerSecond)),
    (sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(2),
    `${Math.round(share * 100)} %`,
  ];
}

/** Ten thousand runs that wait for one event, and are told of it at once. */
async function measureWaits(): Promise<readonly string[]> {
  let waiting = 0;
  let ended = 0;
  let reached = Promise.withResolvers<void>();
  const step = { stepId: 1, stepName: "hold", stepType: "Wait", concurrent: 1 };
  work = async (body, runId) => {
    if (JSON.parse(body).length > 1) return finish(runId);
    await ask("POST", "/v2/wait/all", { url, timeout: "1d", step }, stepHeaders(runId));
    waiting += 1;
    if (waiting === WAITING) reached.resolve();
  };
  ends = () => {
    ended += 1;
    if (ended === WAITING) reached.resolve();
  };
  const startMs = performance.now();
  for (let count = 0; count < WAITING; count += 100) await Promise.all(Array.from({ length: 100 }, start));
  await reached.promise;
  const waitedMs = performance.now() - startMs;
  const residentBytes = server.process.residentBytes() ?? 0;
  reached = Promise.withResolvers();
  const notifiedAtMs = performance.now();
  await ask("POST", "/v2/notify/all", "event");
  await reached.promise;
  const wokenMs = performance.now() - notifiedAtMs;
  return [
    `${WAITING} runs began to wait in ${(waitedMs / 1_000).toFixed(1)} s; the process had ${Math.round(residentBytes / 2 ** 20)} MB.`,
    `One event woke all of them, and they had ended ${(wokenMs / 1_000).toFixed(1)} s later.`,
  ];
}

async function start(): Promise<void> {
  number += 1;
  const headers = { ...stepHeaders(`wfr_${number}`), "upstash-workflow-init": "true" };
  await ask("POST", "/v2/batch", [{ destination: url, headers, body: "begin" }]);
}

function stepHeaders(runId: string): Record<string, string> {
  return {
    "upstash-workflow-runid": runId,
    "upstash-workflow-init": "false",
    "upstash-workflow-url": url,
    "upstash-feature-set": "LazyFetch,InitialBody,WF_DetectTrigger,WF_TriggerOnConfig",
    "upstash-forward-upstash-workflow-sdk-version": "1",
  };
}

async function finish(runId: string): Promise<void> {
  await ask("DELETE", `/v2/workflows/runs/${runId}?cancel=false`, "done");
  ends();
}

async function ask(method: "POST" | "DELETE", path: string, body: unknown, more: Record<string, string> = {}) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...more };
  const reply = await pool.request({ method, path, headers, body: JSON.stringify(body) });
  const text = await reply.body.text();
  if (reply.statusCode >= 300) throw new Error(`${method} ${path}: ${reply.statusCode} ${text}`);
}

function rawWork({ steps, isFork }: Shape): Work {
  const send = (runId: string, bodies: readonly object[]): Promise<void> => {
    const headers = stepHeaders(runId);
    return ask(
      "POST",
      "/v2/batch",
      bodies.map((body) => ({ destination: url, headers, body: JSON.stringify(body) })),
    );
  };
  return async (body, runId) => {
    const entries = JSON.parse(body) as { body: string }[];
    const count = entries.length - 1;
    if (!isFork) {
      if (count === steps) return finish(runId);
      return send(runId, [{ stepId: count + 1, stepName: "s", stepType: "Run", concurrent: 1, out: '"out"' }]);
    }
    const fields = { stepName: "s", stepType: "Run", concurrent: steps };
    if (count === 0) {
      return send(
        runId,
        Array.from({ length: steps }, (_, index) => ({ stepId: 0, ...fields, targetStep: index + 1 })),
      );
    }
    if (count === 2 * steps) return finish(runId);
    const last = JSON.parse(Buffer.from(entries.at(-1)?.body ?? "", "base64").toString()) as { targetStep?: number };
    if (last.targetStep !== undefined) return send(runId, [{ ...fields, stepId: last.targetStep, out: '"out"' }]);
  };
}

function servedWork({ steps, isFork }: Shape): Work {
  const qstashClient = new MessagingClient({
    baseUrl: `http://127.0.0.1:${server.port}`,
    token: TOKEN,
    retry: false,
    devMode: false,
  });
  const { handler } = serve(
    async (context) => {
      if (isFork) await Promise.all(Array.from({ length: steps }, (_, index) => context.run(`s${index}`, () => "out")));
      else for (let index = 0; index < steps; index += 1) await context.run(`s${index}`, () => "out");
      return "done";
    },
    { qstashClient, disableTelemetry: true, env: {} },
  );
  return async (body, _runId, { headers }) => {
    const given = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const answer = await handler(new Request(url, { method: "POST", headers: given, body }));
    // The list of a run that is about to end is whole.
    if (JSON.parse(body).length - 1 === (isFork ? 2 * steps : steps)) setImmediate(ends);
    return answer;
  };
}
