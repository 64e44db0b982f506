/**
 * Publishers and the destination in one process, so that publish and arrival
 * are timed by one clock. Raw sockets on both sides: of the input, only the
 * necessary parts are read, so that this side uses little of its core.
 *
 * Publishers have one request in flight each. The number of a message is the
 * start of its body, in digits, which links the arrival to the publish.
 *
 * node bench/messaging/load-process.ts '<JSON of LoadOrder>'    prints one line: the JSON of a LoadResult
 */
import { Backlog } from "./backlog.ts";
import type { LoadOrder, LoadResult } from "./load.ts";
import { NUMBER_DIGITS, Publisher, publishRequest } from "./publisher.ts";
import { verifySample } from "./signature-sample.ts";
import { startSink } from "./sink.ts";
import { Times } from "./times.ts";

const order = JSON.parse(process.argv[2] ?? "{}") as LoadOrder;
const SAMPLE_EVERY_MS = 100;
/** The signature of every 512th delivery is checked. */
const VERIFY_EVERY = 512;
/** How long after the end deliveries may still come. */
const DRAIN_MS_MAX = 60_000;
const DELAYED_CONNECTIONS = 8;

/** Numbers from here on are messages with a delay. */
const DELAYED_FROM = 5_000_000_000;

const load = new Times();
const delayed = new Times();
const backlog = new Backlog();
let failed = 0;
let duplicates = 0;
let arrivedCount = 0;
let verified = 0;
let isOver = false;
/** Publishers that wait for the arrival of their last message before the next one. */
const waiters = new Map<number, () => void>();

const destination = await startSink(arrive);

/** When the warm-up was over. */
let countFromMs = performance.now();
const publishers: Publisher[] = [];
for (let i = 0; i < order.publishers; i += 1) {
  const publisher = newPublisher(order.headers);
  publishers.push(publisher);
  void drive(publisher);
}
const delayedPublishers = order.delayed === undefined ? [] : connectDelayed();

const sampling = setInterval(() => backlog.sample(load.publishedCount, load.arrivedCount), SAMPLE_EVERY_MS);
setTimeout(begin, order.warmUpMs);
setTimeout(end, order.warmUpMs + order.durationMs);

let atBegin = { acceptedCount: 0, arrivedCount: 0, cpuUs: 0 };

function begin(): void {
  countFromMs = performance.now();
  load.restart();
  atBegin = { acceptedCount: load.publishedCount, arrivedCount: load.arrivedCount, cpuUs: cpuUs() };
  if (order.delayed !== undefined) publishDelayed(order.delayed.everyMs);
}

function end(): void {
  isOver = true;
  const durationMs = performance.now() - countFromMs;
  const accepted = load.publishedCount - atBegin.acceptedCount;
  const arrived = load.arrivedCount - atBegin.arrivedCount;
  const loadCore = (cpuUs() - atBegin.cpuUs) / 1_000 / durationMs;
  const outstanding = load.publishedCount - load.arrivedCount;
  clearInterval(sampling);
  const stoppedMs = performance.now();
  const wait = setInterval(() => {
    const isDone = load.arrivedCount >= load.publishedCount && delayed.arrivedCount >= delayed.publishedCount;
    if (!isDone && performance.now() - stoppedMs < DRAIN_MS_MAX) return;
    clearInterval(wait);
    const result: LoadResult = {
      acceptedPerSecond: (accepted * 1_000) / durationMs,
      deliveredPerSecond: (arrived * 1_000) / durationMs,
      arrival: load.arrivalSpread(),
      answer: load.answerSpread(),
      outstanding,
      outstandingMax: backlog.max,
      isBacklogGrowing: backlog.isGrowing,
      drainMs: load.lastArrivalMs - stoppedMs,
      lost: load.publishedCount - load.arrivedCount + delayed.publishedCount - delayed.arrivedCount,
      failed,
      duplicates,
      verified,
      loadCore,
      delayed: order.delayed === undefined ? undefined : delayed.latenessSpread(order.delayed.delayMs),
    };
    console.log(JSON.stringify(result));
    process.exit(0);
  }, 5);
}

function newPublisher(headers: readonly (readonly [string, string])[]): Publisher {
  const request = publishRequest({ path: order.path + destination, headers, bodyBytes: order.bodyBytes });
  return new Publisher(order.port, request);
}

/** One message after the other until the end. */
async function drive(publisher: Publisher): Promise<void> {
  while (!isOver) {
    const number = load.published(performance.now());
    const arrival = order.gapMs === undefined ? undefined : new Promise<void>((done) => waiters.set(number, done));
    const isAccepted = await publisher.publish(number);
    if (isAccepted) load.answered(number, performance.now());
    else {
      failed += 1;
      load.withdraw(number);
      if (failed > 1_000) throw new Error("more than a thousand publishes failed");
      continue;
    }
    if (arrival === undefined) continue;
    await arrival;
    await new Promise((done) => setTimeout(done, order.gapMs));
  }
}

function connectDelayed(): Publisher[] {
  const headers = [...order.headers, ...(order.delayed?.headers ?? [])];
  return Array.from({ length: DELAYED_CONNECTIONS }, () => newPublisher(headers));
}

function publishDelayed(everyMs: number): void {
  let next = 0;
  const timer = setInterval(() => {
    if (isOver) return clearInterval(timer);
    const publisher = delayedPublishers[next % delayedPublishers.length];
    next += 1;
    if (publisher === undefined || publisher.isBusy) return;
    const number = delayed.published(performance.now());
    void publisher.publish(DELAYED_FROM + number).then((isAccepted) => {
      if (isAccepted) return delayed.answered(number, performance.now());
      failed += 1;
      delayed.withdraw(number);
    });
  }, everyMs);
}

function arrive(bytes: Buffer, bodyStart: number, bodyEnd: number): void {
  const nowMs = performance.now();
  const number = Number(bytes.latin1Slice(bodyStart, bodyStart + NUMBER_DIGITS));
  const isLoad = number < DELAYED_FROM;
  const isFirst = isLoad ? load.arrived(number, nowMs) : delayed.arrived(number - DELAYED_FROM, nowMs);
  if (!isFirst) duplicates += 1;
  arrivedCount += 1;
  if (arrivedCount % VERIFY_EVERY === 1) {
    verifySample({
      head: bytes.latin1Slice(0, bodyStart),
      body: bytes.subarray(bodyStart, bodyEnd),
      key: order.signingKey,
      url: destination,
    });
    verified += 1;
  }
  if (order.gapMs !== undefined) {
    waiters.get(number)?.();
    waiters.delete(number);
  }
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
