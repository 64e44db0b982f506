/**
 * One connection to one origin: resolved, checked, connected, used for one call
 * at a time, and destroyed at any irregularity.
 *
 * (1) The name is resolved when the connection is opened, and the policy checks
 *     the addresses (C-04, C-05). The connection stays on its address; after
 *     `AGE_MS_MAX` it is closed, so that changes of DNS take effect.
 * (2) The peer address from the system is checked again before a byte is sent.
 * (3) Ordinary requests and answers take the short way (`plain/`). With the first
 *     other one the connection passes its socket to an HTTP client of its own, which
 *     never reconnects: the connection ends with its socket.
 * (4) A call on an idle connection that closes before a byte was sent goes to
 *     another connection. Any other interrupted call has failed.
 * (5) Before a call is sent on an idle connection, the socket is polled once more:
 *     bytes or an end that have arrived meanwhile end the connection, and no call
 *     gets them.
 */
import { createRequire } from "node:module";
import { isIP, connect as netConnect, type Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { buildConnector, Client } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import { type AfterPoll, afterPoll } from "../../kernel/turn.ts";
import type { Attempt, Carrier } from "./attempt.ts";
import type { OutboundCall } from "./call.ts";
import type { DestinationGuard } from "./destination-policy.ts";
import { ConnectTimeout, DestinationRefused, failureText } from "./failure-text.ts";
import { IDLE_MARGIN_MS, IDLE_MS } from "./plain/answer.ts";
import { isInPieces, isPlainCall, JOINED_BYTES_MAX, lengthOf } from "./plain/request.ts";
import { AGE_MS_MAX, PlainSocket, replayAnswer, socketError } from "./plain/socket.ts";
import { readInPieces } from "./read-in-pieces.ts";
import type { Address } from "./resolver.ts";
import type { Target } from "./target.ts";

/** What all connections share. */
export interface ConnectionServices {
  readonly resolver: { resolve(name: string): Promise<readonly Address[]> };
  readonly clock: Clock;
  readonly policy: DestinationGuard;
  /** Sockets that are open or opening. */
  readonly sockets: Set<Socket>;
  readonly secureContext: () => SecureContext;
  /** Calls that wait for the next poll: see (5). */
  readonly sending: AfterPoll;
}

export interface ConnectionOwner {
  /** The connection can take another call. */
  freed(connection: Connection): void;
  /** The connection has ended; `unsent` is its call if that goes to another connection (4). */
  gone(connection: Connection, unsent: Attempt | undefined): void;
}

/** For look-up, connect and TLS together; without it a destination that drops packets holds a call for minutes. */
const CONNECT_MS_MAX = 10_000;
/** How long one address is tried before the next one of the same name. */
const ADDRESS_MS_MAX = 1_000;
/** The most addresses that are tried; a name may have hundreds. */
const ADDRESSES_MAX = 8;
const HEADER_BYTES_MAX = 32 * 1_024;

const CLIENT_OPTIONS = {
  pipelining: 1,
  // The attempt has one deadline for everything.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: IDLE_MS,
  keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
  keepAliveMaxTimeout: AGE_MS_MAX,
  maxHeaderSize: HEADER_BYTES_MAX,
  allowH2: false,
} as const;

const CLOSED = new Error("The connection is closed");

/** The package of the client, loaded with the first connection: it takes longer than all of our modules. */
const require = createRequire(import.meta.url);
const loadClient = (): typeof import("undici") => require("undici");

/** Loaded with the first connection that needs it, because Node then begins to read all root certificates. */
export const loadTls = (): typeof import("node:tls") => process.getBuiltinModule("node:tls");

export class Connection implements Carrier {
  readonly #services: ConnectionServices;
  readonly #owner: ConnectionOwner;
  readonly #target: Target;
  /** The socket until a client takes it over: see (3). */
  #plain: PlainSocket | undefined;
  #client: Client | undefined;
  #socket: Socket | undefined;
  #attempt: Attempt | undefined;
  #cancelLimit = (): void => {};
  #connectedAtMs = 0;
  #isReused = false;
  #unsent: Attempt | undefined;
  #isDestroyed = false;

  constructor(target: Target, services: ConnectionServices, owner: ConnectionOwner) {
    this.#target = target;
    this.#services = services;
    this.#owner = owner;
  }

  /** Connects for `attempt` and sends it. */
  open(attempt: Attempt): void {
    this.#take(attempt);
    const { host, label, mapping, isLiteral } = this.#target;
    this.#cancelLimit = afterPoll(this.#services.clock, CONNECT_MS_MAX, () => {
      this.#fail(new ConnectTimeout(`No connection within ${CONNECT_MS_MAX / 1_000} s: ${label}`));
    });
    if (mapping !== undefined) this.#start([mapping.address]);
    else if (isLiteral) this.#start([host]);
    else this.#resolve(attempt, host);
  }

  /** Sends `attempt` over the idle connection: keeps (5). */
  send(attempt: Attempt): void {
    this.#take(attempt);
    this.#isReused = true;
    if (this.#client !== undefined) {
      // It polls too.
      this.#dispatch(this.#client, attempt);
      return;
    }
    this.#services.sending.add(() => {
      if (this.#attempt === attempt && this.#plain !== undefined) this.#sendOn(this.#plain, attempt);
    });
  }

  /** Ends the connection, and its call with a failure. */
  close(text: string): void {
    if (this.#attempt === undefined) this.destroy();
    else this.#attempt.end(text);
  }

  /** Ends the connection if it has no call, or one that was not sent. */
  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#cancelLimit();
    // A call that the client has not sent yet returns through `failed` here.
    this.#client?.destroy(CLOSED, () => {});
    this.#socket?.destroy();
    this.#owner.gone(this, this.#unsent);
  }

  release(): void {
    this.#attempt = undefined;
    this.destroy();
  }

  answered(): void {
    this.#attempt = undefined;
    if (this.#isDestroyed) return;
    const ageMs = this.#services.clock.monotonicMs() - this.#connectedAtMs;
    if (this.#socket?.destroyed !== false || ageMs > AGE_MS_MAX) this.destroy();
    else this.#owner.freed(this);
  }

  failed(attempt: Attempt, error: unknown): void {
    this.#attempt = undefined;
    attempt.holder = undefined;
    // keeps (4)
    const canMove = this.#isReused && !attempt.isStarted && this.#socket?.destroyed === true;
    if (canMove) this.#unsent = attempt;
    else attempt.end(failureText(error, this.#target.label));
    this.destroy();
  }

  #take(attempt: Attempt): void {
    this.#attempt = attempt;
    attempt.holder = this;
    attempt.carrier = this;
  }

  #fail(error: unknown): void {
    if (this.#attempt === undefined) this.destroy();
    else this.failed(this.#attempt, error);
  }

  #resolve(attempt: Attempt, host: string): void {
    attempt.stage = "resolving";
    this.#services.resolver.resolve(host).then(
      (found) => {
        if (this.#isDestroyed) return;
        const { policy } = this.#services;
        const allowed = found.filter(({ address }) => policy.refusalOfAddress(address, host) === undefined);
        const [first] = found;
        if (allowed.length > 0) this.#start(allowed.slice(0, ADDRESSES_MAX).map(({ address }) => address));
        else if (first === undefined) this.#fail(Object.assign(new Error("no address"), { code: "ENODATA" }));
        else this.#fail(new DestinationRefused(policy.refusalOfAddress(first.address, host)));
      },
      (error: unknown) => {
        if (!this.#isDestroyed) this.#fail(error);
      },
    );
  }

  #start(addresses: readonly string[]): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    attempt.stage = "connecting";
    // The client refuses a request that it cannot send before it connects.
    if (!isPlainCall(attempt.call, this.#target.path)) {
      this.#dispatch(
        this.#newClient((callback) => this.#connect(addresses, callback)),
        attempt,
      );
      return;
    }
    this.#connect(addresses, (...[error, socket]) => {
      if (error !== null) this.#fail(error);
      else if (this.#attempt !== undefined) this.#begin(socket, this.#attempt);
    });
  }

  /** Sends the first call over a socket that is connected. */
  #begin(socket: Socket, attempt: Attempt): void {
    const { host } = new URL(this.#target.clientOrigin);
    this.#plain = new PlainSocket(socket, host, {
      answered: (answer) => {
        if (this.#attempt?.isStarted === true) this.#attempt.answered(answer);
        else this.#end(socketError("bad response")); // keeps (5)
      },
      other: (bytes) => this.#readOther(bytes),
      ended: (error) => this.#end(error),
      idle: () => {
        if (this.#attempt === undefined) this.destroy();
      },
    });
    this.#sendOn(this.#plain, attempt);
  }

  #sendOn(plain: PlainSocket, attempt: Attempt): void {
    const { call, target } = attempt;
    if (isPlainCall(call, target.path)) {
      attempt.sent();
      plain.write(call, target.path);
    } else this.#dispatch(this.#clientOn(plain), attempt);
  }

  /** Passes bytes that are no ordinary answer to a client, for which the call is sent again without its bytes. */
  #readOther(bytes: Buffer): void {
    const attempt = this.#attempt;
    const plain = this.#plain;
    if (plain === undefined || attempt?.isStarted !== true) {
      this.#end(socketError("bad response")); // keeps (5)
      return;
    }
    const client = this.#clientOn(plain);
    replayAnswer(plain.socket, bytes);
    this.#dispatch(client, attempt);
  }

  /** The socket has ended, or it must. */
  #end(error: Error): void {
    this.#socket?.destroy();
    this.#fail(error);
  }

  /** A client that takes over the socket: keeps (3). */
  #clientOn(plain: PlainSocket): Client {
    const { socket } = plain;
    plain.leave();
    this.#plain = undefined;
    readInPieces(socket, () => this.#attempt?.stage !== "reading");
    // The client expects a socket only when it has asked for one.
    return this.#newClient((callback) => queueMicrotask(() => callback(null, socket)));
  }

  #newClient(connect: (callback: buildConnector.Callback) => void): Client {
    const client = new (loadClient().Client)(this.#target.clientOrigin, {
      ...CLIENT_OPTIONS,
      connect: (_options, callback) => connect(callback),
    });
    client.on("disconnect", () => this.destroy()); // keeps (3)
    this.#client = client;
    return client;
  }

  #dispatch(client: Client, attempt: Attempt): void {
    const { method } = attempt.call;
    const { headers, body } = framed(attempt.call);
    client.dispatch(
      {
        path: attempt.target.path,
        method,
        // The client only reads the list, but its type is mutable.
        headers: headers as string[],
        body: body as Buffer,
      },
      attempt,
    );
  }

  #connect(addresses: readonly string[], callback: buildConnector.Callback): void {
    if (this.#socket !== undefined || this.#isDestroyed) {
      callback(CLOSED, null);
      return;
    }
    const socket = this.#openSocket(addresses);
    this.#socket = socket;
    this.#services.sockets.add(socket);
    let isReported = false;
    const report = (error: Error | null, connected: Socket): void => {
      if (isReported) return;
      isReported = true;
      this.#cancelLimit();
      this.#connectedAtMs = this.#services.clock.monotonicMs();
      if (error !== null) {
        callback(error, null);
        return;
      }
      if (this.#client !== undefined) readInPieces(connected, () => this.#attempt?.stage !== "reading");
      callback(null, connected);
    };
    socket.once("connect", () => {
      const refusal = this.#refusalOfPeer(socket.remoteAddress);
      if (refusal !== undefined) socket.destroy(new DestinationRefused(refusal));
      else if (this.#target.isSecure) this.#secure(socket, report);
      else report(null, socket);
    });
    socket.on("error", (error) => report(error, socket));
    socket.once("close", () => {
      this.#services.sockets.delete(socket);
      report(Object.assign(new Error("closed"), { code: "ECONNRESET" }), socket);
    });
  }

  #openSocket(addresses: readonly string[]): Socket {
    const { host, port } = this.#target;
    const [only] = addresses;
    const options = { port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };
    if (addresses.length === 1 && only !== undefined) return netConnect({ ...options, host: only });
    return netConnect({
      ...options,
      host,
      lookup: lookupOf(addresses),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_MS_MAX,
    });
  }

  /** Begins TLS after the check of the address: keeps (2). */
  #secure(socket: Socket, report: (error: Error | null, connected: Socket) => void): void {
    const { host, isLiteral } = this.#target;
    const secured = loadTls().connect({
      socket,
      // The certificate is checked against the host, a name or an address.
      host,
      ...(!isLiteral && { servername: host }),
      secureContext: this.#services.secureContext(),
      ALPNProtocols: ["http/1.1"],
    });
    this.#socket = secured;
    secured.once("secureConnect", () => report(null, secured));
    secured.on("error", (error) => {
      report(error, secured);
      socket.destroy();
    });
    secured.once("close", () => socket.destroy());
  }

  /** keeps (2) */
  #refusalOfPeer(address: string | undefined): string | undefined {
    if (this.#target.mapping !== undefined) return undefined;
    return this.#services.policy.refusalOfAddress(address ?? "no address", this.#target.host);
  }
}

/** The client accepts a list of pieces, although its type does not allow it, but does not count their bytes. */
function framed({
  headers,
  body,
}: OutboundCall): Pick<OutboundCall, "headers"> & { body: OutboundCall["body"] | null } {
  if (body.length === 0) return { headers, body: null };
  if (!isInPieces(body)) return { headers, body };
  const bytes = lengthOf(body);
  // That is cheaper than passing the pieces.
  if (bytes <= JOINED_BYTES_MAX) return { headers, body: Buffer.concat(body, bytes) };
  return { headers: [...headers, "Content-Length", String(bytes)], body };
}

/** A look-up with a fixed answer, to try several addresses in turn. */
function lookupOf(addresses: readonly string[]) {
  const answer = addresses.map((address) => ({ address, family: isIP(address) }));
  return (
    _host: string,
    _options: unknown,
    callback: (error: null, answer: { address: string; family: number }[]) => void,
  ): void => callback(null, answer);
}
