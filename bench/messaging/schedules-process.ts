/**
 * Creates schedules for each minute, and receives their messages. The first
 * minute after all are created counts.
 *
 * node bench/messaging/schedules-process.ts '<JSON of ScheduleOrder>'    prints one line: the JSON of a ScheduleResult
 */
import { NUMBER_DIGITS, Publisher, publishRequest } from "./publisher.ts";
import type { ScheduleOrder, ScheduleResult } from "./schedules.ts";
import { startSink } from "./sink.ts";
import { spreadOf } from "./times.ts";

const MINUTE_MS = 60_000;
/** The last ones must be created before the minute begins. */
const AHEAD_MS = 1_000;
const BODY_BYTES = 100;
const CONNECTIONS = 16;

const { port, headers, count } = JSON.parse(process.argv[2] ?? "{}") as ScheduleOrder;
const arrivedMs = new Float64Array(count);
let minuteMs = Number.POSITIVE_INFINITY;
let arrivedCount = 0;

const destination = await startSink((bytes, bodyStart) => {
  const nowMs = Date.now();
  const number = Number(bytes.latin1Slice(bodyStart, bodyStart + NUMBER_DIGITS));
  if (nowMs < minuteMs || nowMs >= minuteMs + MINUTE_MS || arrivedMs[number] !== 0) return;
  arrivedMs[number] = nowMs;
  arrivedCount += 1;
});

const request = publishRequest({
  path: `/v2/schedules/${destination}`,
  headers: [...headers, ["service-cron", "* * * * *"]],
  bodyBytes: BODY_BYTES,
});
const startMs = performance.now();
let next = 0;
await Promise.all(Array.from({ length: CONNECTIONS }, () => create(new Publisher(port, request))));
const createdPerSecond = (count * 1_000) / (performance.now() - startMs);

minuteMs = Math.ceil((Date.now() + AHEAD_MS) / MINUTE_MS) * MINUTE_MS;
while (arrivedCount < count && Date.now() < minuteMs + MINUTE_MS) await new Promise((done) => setTimeout(done, 50));

const late = [...arrivedMs].filter((ms) => ms !== 0).map((ms) => ms - minuteMs);
const result: ScheduleResult = { count, createdPerSecond, arrivedCount, lateness: spreadOf(late) };
console.log(JSON.stringify(result));
process.exit(0);

async function create(publisher: Publisher): Promise<void> {
  while (next < count) {
    const number = next;
    next += 1;
    if (!(await publisher.publish(number))) throw new Error(`schedule ${number} was refused`);
  }
}
