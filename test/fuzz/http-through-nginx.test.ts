/**
 * Random and hostile streams of HTTP/1 requests that go through a real nginx to our
 * own reader.
 *
 * (1) Our reader sees exactly the requests that nginx passes on: those with its ids,
 *     in the order of the bytes on each connection. So nothing that a client writes
 *     is a request to us and a body to nginx, or the other way round.
 * (2) Node's reader sees the same in these bytes, with the same bodies; where not,
 *     `http/differences.ts` says why.
 * (3) The client gets one response of ours for each request that nginx has passed on.
 *     The last one of a connection may get a refusal, for a reason of `refusals`.
 * (4) A request that nginx passes on and that our reader would see in the stream itself
 *     has the same method and the same body in both.
 *
 * Run again:  LARDER_NGINX_SEED=… npm run t -- test/fuzz/http-through-nginx.test.ts
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { framingFailure, hasBody, originForm } from "../../src/edge/http/framing.ts";
import type { TransportHandlers } from "../../src/edge/http/transport.ts";
import { wireTransport } from "../../src/edge/http/wire/transport.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf, spending } from "../budget.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { seedFrom } from "../harness/seed.ts";
import { NEXT, smugglingCases } from "../harness/smuggling-cases.ts";
import { reasonsOf } from "./http/differences.ts";
import { type FrontName, frontNames, ID_FIELD, Nginx } from "./http/nginx.ts";
import { isSame, type Reading, readAll } from "./http/readings.ts";
import { drawStream } from "./http/streams.ts";

const seed = seedFrom("LARDER_NGINX_SEED");

/** Streams that are sent side by side. */
const BATCH = 32;
/** The replayed readings take heads of 2,000 bytes, and nginx adds some. */
const STREAM_BYTES_MAX = 1_500;
/**
 * Half of the streams are long, with one hostile request among many usual ones: nginx passes on four requests of such a
 * stream, and one of a short stream, in which all requests are hostile.
 */
const LONG = { requestsMax: 16, hostileOneOf: 16 };
const ID_LINE = new RegExp(`\r\n${ID_FIELD}: ([0-9a-f]{32})\r\n`, "g");

/** What came over one connection from nginx. */
interface Passed {
  readonly packets: Buffer[];
  readonly ids: string[];
  isRefused: boolean;
}

/** What nginx passes on and we refuse, on purpose. The connection ends there. */
const refusals: readonly { readonly reason: string; readonly head: RegExp }[] = [
  { reason: "a target has only visible ASCII characters", head: /^[A-Z-]+ [^ ]*[^\x21-\x7e ][^ ]* HTTP/ },
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  { reason: "a value has no controls except tabs", head: /\r\n[^\r\n]+:[^\r\n]*[\x00-\x08\x0b-\x1f\x7f]/ },
];

interface PassedRequest {
  readonly method: string;
  body: string;
}

const options = { skip: missingProgram("nginx") };

test("our reader sees the requests that nginx passes on, and no others", options, async (context) => {
  const isSpent = spending(allowanceOf("http-through-nginx"));
  const random = seededRandom(seed);
  await using nginx = new Nginx();
  await nginx.start();
  await using upstream = new Upstream();
  await upstream.listen(nginx.upstreamPath);
  let streamCount = 0;
  let passedCount = 0;
  while (!isSpent(passedCount)) {
    const front = frontNames[random.below(frontNames.length)] as FrontName;
    const shape = random.below(2) === 0 ? LONG : undefined;
    const streams = Array.from({ length: BATCH }, () => drawFittingStream(() => drawStream(random, shape)));
    passedCount += await check(streams, { front, nginx, upstream });
    streamCount += BATCH;
  }
  context.diagnostic(`seed ${seed}: ${streamCount} streams, ${passedCount} requests passed on`);
  assert.ok(passedCount > 0, "nginx passes requests on");
});

test("S-02: no known way to smuggle a request leads through nginx past our reader", options, async () => {
  await using nginx = new Nginx();
  await nginx.start();
  await using upstream = new Upstream();
  await upstream.listen(nginx.upstreamPath);
  const streams = smugglingCases
    .map(({ bytes }) => Buffer.from(bytes + NEXT, "latin1"))
    .filter(({ length }) => length <= STREAM_BYTES_MAX);
  for (const front of frontNames)
    for (let at = 0; at < streams.length; at += BATCH)
      await check(streams.slice(at, at + BATCH), { front, nginx, upstream });
});

interface Chain {
  readonly front: FrontName;
  readonly nginx: Nginx;
  readonly upstream: Upstream;
}

/** Sends streams side by side. Returns how many requests nginx has passed on. */
async function check(streams: readonly Buffer[], { front, nginx, upstream }: Chain): Promise<number> {
  const answers = await Promise.all(streams.map((bytes) => nginx.send(front, bytes)));
  const { connections, requests } = upstream.take();
  await checkConnections(connections);
  const packets = streams.map((bytes) => [bytes]);
  const direct = await readAll("larder", packets);
  let passedCount = 0;
  for (const [i, bytes] of streams.entries())
    passedCount += checkStream({ front, bytes, answer: answers[i] as string, direct: direct[i] as Reading, requests });
  assert.deepEqual([...requests], [], `seed ${seed}: requests without a response to a client`);
  return passedCount;
}

function drawFittingStream(draw: () => string): Buffer {
  for (;;) {
    const text = draw();
    if (text.length <= STREAM_BYTES_MAX) return Buffer.from(text, "latin1");
  }
}

/** keeps (1) and (2) */
async function checkConnections(connections: readonly Passed[]): Promise<void> {
  const raw = connections.map(({ packets }) => Buffer.concat(packets));
  const streams = raw.map((bytes) => [bytes]);
  const ours = await readAll("larder", streams);
  const theirs = await readAll("node", streams);
  for (const [i, { ids, isRefused }] of connections.entries()) {
    const text = (raw[i] as Buffer).latin1Slice();
    const label = (): string => `seed ${seed}: nginx passed on ${JSON.stringify(text)}`;
    const passedIds = [...text.matchAll(ID_LINE)].map(([, id]) => id);
    if (isRefused) {
      // nginx writes its field first, after the request line.
      const idAt = text.indexOf(`\r\n${ID_FIELD}: ${passedIds.pop()}`);
      const head = text.slice(text.lastIndexOf("\n", idAt) + 1);
      assert.ok(
        refusals.some((row) => row.head.test(head)),
        `we refuse what ${label()}`,
      );
    }
    if (ids.length !== passedIds.length || ids.some((id, at) => id !== passedIds[at]))
      assert.deepEqual(ids, passedIds, label());
    const [our, their] = [ours[i] as Reading, theirs[i] as Reading];
    if (our.requests.length !== ids.length) assert.equal(our.requests.length, ids.length, label());
    if (!isSame(our, their) && (await reasonsOf(raw[i] as Buffer, our, their)) === undefined)
      assert.deepEqual(our.requests, their.requests, label());
  }
}

interface StreamOutcome {
  readonly front: FrontName;
  readonly bytes: Buffer;
  readonly answer: string;
  readonly direct: Reading;
  /** By their ids; those of this stream are removed. */
  readonly requests: Map<string, PassedRequest>;
}

/** keeps (3) and (4). Returns how many of its requests nginx has passed on. */
function checkStream({ front, bytes, answer, direct, requests }: StreamOutcome): number {
  const label = (): string => `seed ${seed}, ${front}: ${JSON.stringify(bytes.latin1Slice())}`;
  const ids = new Set(answer.match(/[0-9a-f]{32}/g) ?? []);
  for (const [i, id] of [...ids].entries()) {
    const passed = requests.get(id);
    if (passed === undefined) assert.fail(`a response to no request: ${label()}`);
    requests.delete(id);
    const seen = direct.requests[i];
    if (seen === undefined || (direct.end !== "open" && i === direct.requests.length - 1)) continue;
    if (passed.method !== seen.method || passed.body !== seen.body)
      assert.deepEqual([passed.method, passed.body], [seen.method, seen.body], label());
  }
  return ids.size;
}

/** Our reader behind nginx. It answers each request with the id that nginx gave it. */
class Upstream implements AsyncDisposable {
  readonly #bySocket = new Map<Socket, Passed>();
  #connections: Passed[] = [];
  #requests = new Map<string, PassedRequest>();
  readonly #server = wireTransport(this.#handlers(), {
    limits: {
      headerBytesMax: 65_536,
      headersTimeoutMs: 1e6,
      requestTimeoutMs: 1e6,
      keepAliveTimeoutMs: 1e6,
      stalledTimeoutMs: 1e6,
    },
    tls: undefined,
    clock: new VirtualClock(),
  }).server;

  listen(path: string): Promise<void> {
    this.#server.on("connection", (socket: Socket) => {
      const passed: Passed = { packets: [], ids: [], isRefused: false };
      this.#bySocket.set(socket, passed);
      this.#connections.push(passed);
      socket.on("close", () => this.#bySocket.delete(socket));
      socket.prependListener("data", (packet: Buffer) => this.#bySocket.get(socket)?.packets.push(Buffer.from(packet)));
    });
    return new Promise((resolve) => this.#server.listen(path, resolve));
  }

  /** What has come since the last call. Connections that nginx keeps begin again. */
  take(): { readonly connections: readonly Passed[]; readonly requests: Map<string, PassedRequest> } {
    const taken = { connections: this.#connections, requests: this.#requests };
    this.#connections = [];
    this.#requests = new Map();
    for (const socket of this.#bySocket.keys()) {
      const passed: Passed = { packets: [], ids: [], isRefused: false };
      this.#bySocket.set(socket, passed);
      this.#connections.push(passed);
    }
    return taken;
  }

  #handlers(): TransportHandlers {
    return {
      request: (request, response, expectation) => {
        const { method, rawHeaders, framing, httpVersion, target } = request;
        if (framingFailure(framing, httpVersion) !== undefined || originForm(target) === undefined) {
          this.#refuse(request.channel as Socket);
          return;
        }
        assert.equal(expectation, "nothing", "nginx answers expectations itself");
        const id = rawHeaders[rawHeaders.indexOf(ID_FIELD) + 1] as string;
        const passed = { method, body: "" };
        this.#bySocket.get(request.channel as Socket)?.ids.push(id);
        const data = (chunk: Buffer): void => {
          passed.body += chunk.latin1Slice();
        };
        const end = (): void => {
          this.#requests.set(id, passed);
          // In the head for HEAD, in the body for HTTP/0.9, which nginx answers without a head.
          response.writeHead(200, ["Content-Length", String(id.length), ID_FIELD, id]);
          response.end(id);
        };
        if (hasBody(framing)) request.receive({ data, end });
        else end();
      },
      tunnel: () => assert.fail("nginx passes on no CONNECT"),
      silent() {},
      refused: () => assert.fail("HTTP/2"),
      lateBody: () => assert.fail("HTTP/2"),
      fault: (socket) => this.#refuse(socket),
    };
  }

  /** As the listener does. */
  #refuse(socket: Socket): void {
    const passed = this.#bySocket.get(socket);
    if (passed !== undefined) passed.isRefused = true;
    socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#bySocket.keys()) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
