/**
 * Sends requests to the node that serves an area, over connections that stay
 * open, to a peer that has the key of the cluster (edge/http/shared-key.ts).
 *
 * (1) A request is sent at most once. The HTTP client reports the moment before
 *     its first byte is written; a failure before that moment is certain to have
 *     carried nothing out.
 * (2) An answer with a length is passed on when it is complete, so that a client
 *     never sees half of one. An answer without one is an event stream, whose
 *     bytes are passed on as they come, and as fast as the client reads them.
 * (3) An answer has no time limit, because a write may wait for PostgreSQL. A node
 *     that has lost its area has CUT_MS for the answers that it owes; then the
 *     connections to it are closed.
 */
import type { Socket } from "node:net";
import { type buildConnector, type Dispatcher, Pool } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import type { HttpReply, HttpRequest, HttpStream, StreamSink } from "../handler.ts";
import { connectWithKey, type NamedKey } from "../http/shared-key.ts";
import { BUDGETED_REPLY_BYTES_MIN } from "../limits/held-bytes.ts";
import { Departures, isUnsendable, type Traveller } from "./departures.ts";
import { type Caller, endToEnd, findHeader, forwardedHeaders, PROBE, probeOf, tunnelTo } from "./forwarded-head.ts";
import type { OwnerAddress, Sender, SendOutcome } from "./front.ts";
import { SinkPace } from "./sink-pace.ts";
import { Tunnels } from "./tunnels.ts";

export interface PoolSenderOptions {
  /** Of the cluster: with it connections are made until `offer` names another one. */
  readonly key: NamedKey;
  readonly clock: Clock;
  /** Probes and connections ask for this shard of the area. Absent: 0, for which an area with one shard is asked as well. */
  readonly shard?: number;
}

/** The head of a CONNECT request, besides its target and its client. */
const TUNNEL_HEADERS = ["Host", "larder"];

/** Longer than a packet that was lost once needs. */
const CONNECT_MS_MAX = 2_000;
/** An idle connection is closed before its peer would close it (edge/limits/listener.ts). */
const IDLE_MS_MAX = 30_000;
/** See (3). */
export const CUT_MS = 10_000;

const MISDIRECTED = 421;
const NO_CONTENT = 204;
const NO_CONTENT_STATUSES = [NO_CONTENT, 304];

const ABANDONED = new Error("The client has gone");

export class PoolSender implements Sender {
  readonly #options: PoolSenderOptions;
  #key: NamedKey;
  /** By `host:port`: that of the owner, and those of former ones until they are followed by another. */
  readonly #destinations = new Map<string, Destination>();
  /** Those whose connections have shown a former key, until they have ended. */
  readonly #retired = new Set<Destination>();

  readonly #tunnels: Tunnels;

  constructor(options: PoolSenderOptions) {
    this.#options = options;
    this.#key = options.key;
    this.#tunnels = new Tunnels(options.clock);
  }

  send(to: OwnerAddress, request: HttpRequest): Promise<SendOutcome> {
    return this.#send(to, request, { address: request.remoteAddress, port: request.remotePort });
  }

  async probe(to: OwnerAddress): Promise<boolean> {
    const { shard } = this.#options;
    const outcome = await this.#send(to, PROBE_REQUEST, shard === undefined ? PROBE : probeOf(shard));
    return outcome.kind === "answered" && outcome.reply.status === NO_CONTENT;
  }

  /** Connections are made with this key from now on. Those of the key before end after their requests. */
  offer(key: NamedKey): void {
    if (key.name === this.#key.name) return;
    this.#key = key;
    for (const [place, destination] of this.#destinations) {
      this.#destinations.delete(place);
      this.#retired.add(destination);
      void destination.finish().then(() => this.#retired.delete(destination));
    }
  }

  openTunnel(to: OwnerAddress, caller: Caller, abandoned: AbortSignal): Promise<Socket | undefined> {
    const target = tunnelTo(this.#options.shard ?? 0);
    const headers = [...forwardedHeaders(TUNNEL_HEADERS, caller)];
    return this.#tunnels.open(this.#destinationOf(to), { place: placeOf(to), target, headers, abandoned });
  }

  #send(to: OwnerAddress, request: HttpRequest, caller: Caller): Promise<SendOutcome> {
    const { clock } = this.#options;
    const { method, target, rawHeaders, body } = request;
    return new Promise((resolve) => {
      this.#destinationOf(to).dispatch(
        {
          path: target,
          method: method as Dispatcher.HttpMethod,
          headers: [...forwardedHeaders(rawHeaders, caller)],
          body: body.length === 0 ? null : body,
        },
        new Transit(request, { clock, done: resolve }),
      );
    });
  }

  follow(to: OwnerAddress | undefined): void {
    const kept = to === undefined ? undefined : placeOf(to);
    this.#tunnels.endOthers(kept, CUT_MS);
    for (const destination of [...this.#destinations.values(), ...this.#retired]) {
      if (destination.place === kept) continue;
      if (!this.#retired.has(destination)) this.#destinations.delete(destination.place);
      void destination.end(CUT_MS); // keeps (3)
    }
  }

  async close(graceMs: number): Promise<void> {
    const all = [...this.#destinations.values(), ...this.#retired];
    this.#destinations.clear();
    await Promise.all([...all.map((destination) => destination.end(graceMs)), this.#tunnels.close(graceMs)]);
  }

  #destinationOf(to: OwnerAddress): Destination {
    const place = placeOf(to);
    let destination = this.#destinations.get(place);
    if (destination === undefined) {
      destination = new Destination(place, this.#key, this.#options.clock);
      this.#destinations.set(place, destination);
    }
    return destination;
  }
}

/** A port of another node, and the connections to it. */
class Destination {
  /** `host:port` */
  readonly place: string;
  readonly #clock: Clock;
  readonly #pool: Pool;
  readonly #departures = new Departures();

  constructor(place: string, key: NamedKey, clock: Clock) {
    this.place = place;
    this.#clock = clock;
    // The client of HTTP knows nothing of TLS: with `https` it would end a connection whose next request has another Host.
    this.#pool = new Pool(`http://${place}`, {
      connections: null,
      pipelining: 1,
      connect: connectorOf(key, clock),
      allowH2: false,
      keepAliveTimeout: IDLE_MS_MAX,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  dispatch(options: Dispatcher.DispatchOptions, traveller: Traveller): void {
    this.#departures.add({
      begin: () => {
        traveller.onLeft = (isConnected) => this.#departures.left({ isConnected });
        try {
          this.#pool.dispatch(options, traveller);
        } catch (fault) {
          traveller.failed(fault);
        }
      },
      refuse: () => traveller.refused(),
    });
  }

  /** Gets no more requests. Resolves when every one under way has ended, however long that takes. */
  async finish(): Promise<void> {
    await new Promise<void>((resolve) => this.#departures.whenNone(resolve));
    // Otherwise `end` has cut it meanwhile.
    if (!this.#pool.destroyed) await this.#pool.close();
  }

  /** The same, but requests that are not sent yet are refused, and those that take longer than `graceMs` end then. */
  async end(graceMs: number): Promise<void> {
    this.#departures.close();
    const cut = Promise.withResolvers<void>();
    const cancel = this.#clock.after(graceMs, () => cut.resolve(this.#pool.destroy()));
    await Promise.race([this.#pool.close(), cut.promise]);
    cancel();
  }
}

/** Makes connections that have completed their handshake. */
function connectorOf(key: NamedKey, clock: Clock): buildConnector.connector {
  return ({ hostname, port }, callback) => {
    const socket = connectWithKey({ host: hostname, port: Number(port) }, key);
    const cancel = clock.real.after(CONNECT_MS_MAX, () => {
      socket.destroy(new Error(`The node has not completed a handshake in ${CONNECT_MS_MAX} ms`));
    });
    const failed = (fault: Error): void => {
      cancel();
      callback(fault, null);
    };
    socket.once("error", failed);
    socket.once("secureConnect", () => {
      cancel();
      socket.off("error", failed);
      callback(null, socket);
    });
  };
}

/** Its target has no meaning, because its caller says what it is. */
const PROBE_REQUEST: HttpRequest = {
  ...{ method: "GET", target: "/", rawHeaders: ["Host", "larder"], body: Buffer.alloc(0), id: "probe" },
  ...{ header: () => undefined, remoteAddress: "", remotePort: 0 },
};

/** `host:port` */
export function placeOf({ host, port }: OwnerAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A request on its way, and its answer. */
class Transit implements Traveller {
  readonly #request: HttpRequest;
  readonly #pace: SinkPace;
  /** Called once: a connection has taken it, or none could be made. */
  onLeft: ((isConnected: boolean) => void) | undefined;
  #done: ((outcome: SendOutcome) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: readonly string[] = [];
  readonly #pieces: Buffer[] = [];
  #bodyBytes = 0;
  /** Undefined for an event stream. */
  #announcedBytes: number | undefined = 0;
  #sink: StreamSink | undefined;
  #isOver = false;

  constructor(
    request: HttpRequest,
    { clock, done }: { readonly clock: Clock; readonly done: (outcome: SendOutcome) => void },
  ) {
    this.#request = request;
    this.#pace = new SinkPace(clock);
    this.#done = done;
  }

  /** keeps (1): called before the first byte is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#leave({ isConnected: true });
  }

  /** It was not sent, and will not be. */
  refused(): void {
    this.#isOver = true;
    this.#settle({ kind: "not executed" });
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return;
    const all = textHeaders(controller.rawHeaders);
    const length = findHeader(all, "content-length");
    this.#status = status;
    this.#headers = passedOn(all);
    this.#announcedBytes = length === undefined ? undefined : Number(length);
    const hasNoBody = this.#request.method === "HEAD" || NO_CONTENT_STATUSES.includes(status);
    if (hasNoBody) this.#announcedBytes ??= 0;
    if (status === MISDIRECTED) return;
    if (this.#announcedBytes === undefined) this.#beginStream(controller);
    else if (
      this.#announcedBytes >= BUDGETED_REPLY_BYTES_MIN &&
      this.#request.takeReply?.(this.#announcedBytes) === false
    )
      this.#break(controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isOver || this.#status === MISDIRECTED) return;
    if (this.#announcedBytes === undefined) this.#passOn(controller, piece);
    else {
      // The buffer belongs to the reader of the connection.
      this.#pieces.push(Buffer.from(piece));
      this.#bodyBytes += piece.length;
    }
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#status === MISDIRECTED) this.#settle({ kind: "not executed" });
    else if (this.#announcedBytes === undefined) {
      this.#pace.stop();
      this.#sink?.end();
    } else this.#settle({ kind: "answered", reply: this.#reply() });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, fault: Error): void {
    this.failed(fault);
  }

  /** Its connection has ended, or was never made, or the HTTP client refuses the request. */
  failed(fault: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pace.stop();
    const isSent = this.#controller !== undefined && this.#status !== MISDIRECTED;
    this.#settle({ kind: isSent ? "lost" : isUnsendable(fault) ? "unsendable" : "not executed" });
    // Its client sees that the stream has no end.
    this.#sink?.abort();
    this.#leave({ isConnected: isUnsendable(fault) });
  }

  #leave({ isConnected }: { readonly isConnected: boolean }): void {
    const { onLeft } = this;
    this.onLeft = undefined;
    onLeft?.(isConnected);
  }

  #reply(): HttpReply {
    const [first] = this.#pieces;
    const body =
      this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces, this.#bodyBytes);
    // The reply to HEAD has the length of a body that is not sent.
    const isHead = this.#request.method === "HEAD";
    const announced = isHead ? Buffer.alloc(this.#announcedBytes ?? 0) : body;
    return { status: this.#status, headers: this.#headers, body: announced, route: "forwarded" };
  }

  #beginStream(controller: Dispatcher.DispatchController): void {
    controller.pause();
    const reply: HttpStream = {
      status: this.#status,
      headers: this.#headers,
      route: "forwarded",
      open: (sink) => {
        this.#sink = sink;
        if (this.#isOver) sink.abort();
        else controller.resume();
        return () => this.#clientGone(controller);
      },
    };
    this.#settle({ kind: "answered", reply });
  }

  /** keeps (2) */
  #passOn(controller: Dispatcher.DispatchController, piece: Buffer): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    sink.write(Buffer.from(piece));
    if (this.#pace.mustWait(sink, () => controller.resume())) controller.pause();
  }

  #clientGone(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pace.stop();
    controller.abort(ABANDONED);
  }

  /** The answer has no room. */
  #break(controller: Dispatcher.DispatchController): void {
    this.#isOver = true;
    controller.abort(ABANDONED);
    this.#settle({ kind: "lost" });
  }

  /** Later, because the HTTP client takes an error of the caller for its own. */
  #settle(outcome: SendOutcome): void {
    const done = this.#done;
    this.#done = undefined;
    if (done !== undefined) queueMicrotask(() => done(outcome));
  }
}

/** Headers that the listener writes itself. */
const WRITTEN_BY_LISTENER: readonly string[] = ["date"];

function passedOn(rawHeaders: readonly string[]): readonly string[] {
  const kept: string[] = [];
  const headers = endToEnd(rawHeaders);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!WRITTEN_BY_LISTENER.includes(name.toLowerCase())) kept.push(name, headers[i + 1] as string);
  }
  return kept;
}

function textHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): readonly string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part) => (typeof part === "string" ? part : part.latin1Slice(0, part.length)));
}
