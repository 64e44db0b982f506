/**
 * The load generator for machines without wrk; same arguments, same output
 * line as `replay.lua`. Raw sockets, and of an answer only what is needed:
 * where it ends and whether it is a success.
 *
 * node bench/harness/own-generator.ts <port> <connections> <seconds>   (REQUESTS names the file)
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number);
const requests = readRequests(readFileSync(process.env["REQUESTS"] ?? ""));
const takenUs: number[] = [];
let nextIndex = 0;
let failed = 0;

const startMs = performance.now();
const endMs = startMs + seconds * 1_000;
let open = connections;
for (let i = 0; i < connections; i += 1) drive(connect(port, "127.0.0.1"));

function drive(socket: Socket): void {
  let sentMs = 0;
  let answer: Buffer = Buffer.alloc(0);
  const send = (): void => {
    sentMs = performance.now();
    socket.write(requests[nextIndex] as Buffer);
    nextIndex = (nextIndex + 1) % requests.length;
  };
  socket.setNoDelay(true).on("connect", send);
  socket.on("data", (chunk: Buffer) => {
    answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
    const length = wholeLength(answer);
    if (length === undefined || answer.length < length) return;
    if (!/^HTTP\/1\.1 [23]/.test(answer.latin1Slice(0, 12))) failed += 1;
    answer = Buffer.alloc(0);
    const nowMs = performance.now();
    takenUs.push(Math.round((nowMs - sentMs) * 1_000));
    if (nowMs < endMs) send();
    else socket.end();
  });
  socket.on("error", () => {
    failed += 1;
  });
  socket.on("close", () => {
    open -= 1;
    if (open === 0) report();
  });
}

/** Bytes of the answer, or undefined while its head is not all there. */
function wholeLength(answer: Buffer): number | undefined {
  const headEnd = answer.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const bodyBytes = /^content-length: *(\d+)/im.exec(answer.latin1Slice(0, headEnd))?.[1];
  return headEnd + 4 + Number(bodyBytes ?? 0);
}

function report(): void {
  const durationMs = performance.now() - startMs;
  takenUs.sort((left, right) => left - right);
  const percentile = (share: number): number => (takenUs[Math.floor((takenUs.length - 1) * share)] ?? 0) / 1_000;
  const result = { p50Ms: percentile(0.5), p99Ms: percentile(0.99), maxMs: percentile(1) };
  console.log(JSON.stringify({ requests: takenUs.length, durationMs, ...result, failed }));
}

function readRequests(file: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const lineEnd = file.indexOf("\n", at);
    const length = Number(file.latin1Slice(at, lineEnd));
    found.push(file.subarray(lineEnd + 1, lineEnd + 1 + length));
    at = lineEnd + 1 + length;
  }
  return found;
}
