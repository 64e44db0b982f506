/**
 * Question: how many deliveries a second can the outbound client make on one
 * core?
 *
 * Method: `send` 300-byte POSTs with the dozen headers of a delivery to a sink
 * in a separate process, N in flight, each answer starting the next call.
 *
 * Read: `calls/cpu s` is calls per second of this process' processor time: the rate that
 * one core would have if the sink used none of it. `calls/s` is by the wall
 * clock, including other processes. Warm-up is not counted.
 *
 * Run: npm run bench -- outbound [--seconds 3]
 */
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { OutboundClient } from "../src/edge/outbound/client.ts";
import { parseDestinations } from "../src/edge/outbound/destination-policy.ts";
import { Resolver } from "../src/edge/outbound/resolver.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { LOAD_CORE, startPinned } from "./harness/pinned-process.ts";

const option = process.argv.indexOf("--seconds");
const seconds = option < 0 ? 3 : Number(process.argv[option + 1]);
const WARM_UP_SECONDS = 2;

const HEADERS = [
  ...["Content-Type", "application/json", "User-Agent", "Upstash-QStash", "Accept-Encoding", "identity"],
  ...["Upstash-Message-Id", "msg_26hZCxZCuWyyTWPmSVBrNB882AVUsWTKwUKTpTbvUAyg8ZJ"],
  ...["Upstash-Retried", "0", "Upstash-Signature", "x".repeat(420)],
  ...["Service-Message-Id", "msg_26hZCxZCuWyyTWPmSVBrNB882AVUsWTKwUKTpTbvUAyg8ZJ"],
  ...["Service-Retried", "0", "Service-Signature", "x".repeat(420)],
];

const sink = await startPinned({
  command: [process.execPath, fileURLToPath(new URL("outbound/sink.ts", import.meta.url))],
  core: LOAD_CORE,
  until: /port \d+/,
});
const port = /port (\d+)/.exec(sink.output())?.[1] ?? "";
const client = new OutboundClient({
  resolver: new Resolver({ lookup: () => Promise.reject(new Error("no names here")), clock: systemClock }),
  clock: systemClock,
  policy: parseDestinations("any", []),
  map: [],
  responseBytesMax: 1_000_000,
});
const call = {
  user: "main",
  url: `http://127.0.0.1:${port}/hook?a=1`,
  method: "POST",
  headers: HEADERS,
  body: Buffer.alloc(300, "x"),
  timeoutMs: 900_000,
};

console.log("in flight | calls/cpu s | calls/s");
for (const inFlight of [1, 64, 256]) {
  await run(inFlight, WARM_UP_SECONDS);
  const { calls, cpuSeconds, wallSeconds } = await run(inFlight, seconds);
  console.log(`${inFlight} | ${Math.round(calls / cpuSeconds)} | ${Math.round(calls / wallSeconds)}`);
}
await client.close();
await sink.stop();

function run(inFlight: number, runSeconds: number) {
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  const endMs = startMs + runSeconds * 1_000;
  let calls = 0;
  let open = inFlight;
  return new Promise<{ calls: number; cpuSeconds: number; wallSeconds: number }>((resolve, reject) => {
    const next = (): void => {
      client.send(call, (result) => {
        if (result.kind === "failure") return reject(new Error(result.text));
        calls += 1;
        if (performance.now() < endMs) return next();
        open -= 1;
        if (open > 0) return;
        const used = process.cpuUsage(startCpu);
        const wallSeconds = (performance.now() - startMs) / 1_000;
        resolve({ calls, cpuSeconds: (used.user + used.system) / 1e6, wallSeconds });
      });
    };
    for (let i = 0; i < inFlight; i += 1) next();
  });
}
