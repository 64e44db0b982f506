/** The cost of delayed messages: memory, and the next start. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type LarderServer, startMessaging } from "./larder.ts";
import type { Place } from "./subjects.ts";

export interface PendingResult {
  readonly count: number;
  readonly acceptedPerSecond: number;
  /** Resident memory of the process when all are accepted. */
  readonly residentBytes: number | undefined;
  readonly emptyBytes: number | undefined;
  /** Of the area: journal, snapshots, history. */
  readonly diskBytes: number;
  /** From the start of the process to the line `running at`, and to the first answer. */
  readonly runningMs: number;
  readonly answeredMs: number;
  readonly residentAfterStartBytes: number | undefined;
}

const BODY_BYTES = 1_024;
const MESSAGES_PER_REQUEST = 500;
const CONNECTIONS = 4;
/** The wait before reading memory, after the last message: a collection may be due. */
const SETTLE_MS = 5_000;
const DELAY = "1d";

export async function measurePending({ parent, program }: Place, count: number): Promise<PendingResult> {
  const directory = mkdtempSync(join(parent, "pending-"));
  try {
    const first = await startMessaging(program, directory, { history: "second core" });
    const emptyBytes = first.process.residentBytes();
    const beganMs = performance.now();
    await fill(first, count);
    const acceptedPerSecond = (count * 1_000) / (performance.now() - beganMs);
    await expectCount(first, count);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const residentBytes = first.process.residentBytes();
    await first.process.stop();

    const startMs = performance.now();
    const second = await startMessaging(program, directory, { history: "second core" });
    const runningMs = performance.now() - startMs;
    await second.call("GET", "/v2/queues");
    const answeredMs = performance.now() - startMs;
    await expectCount(second, count);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const residentAfterStartBytes = second.process.residentBytes();
    await second.process.stop();
    return {
      count,
      acceptedPerSecond,
      residentBytes,
      emptyBytes,
      diskBytes: bytesIn(directory),
      runningMs,
      answeredMs,
      residentAfterStartBytes,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fill(server: LarderServer, count: number): Promise<void> {
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next = Math.min(count, next + MESSAGES_PER_REQUEST);
      const messages = Array.from({ length: next - from }, (_, i) => ({
        destination: "http://127.0.0.1:9/hook",
        headers: { "Service-Delay": DELAY },
        body: String(from + i).padStart(BODY_BYTES, "x"),
      }));
      await server.call("POST", "/v2/batch", JSON.stringify(messages));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
}

async function expectCount(server: LarderServer, count: number): Promise<void> {
  const found = await server.metric("larder_messaging_timed_messages");
  if (found !== count) throw new Error(`${count} messages went in and ${found} wait`);
}

function bytesIn(directory: string): number {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path.includes("messaging"))
    .map((path) => statSync(join(directory, path)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}
