/**
 * One connection to one origin: resolved, checked, connected, used for one call
 * at a time, and destroyed at any irregularity.
 *
 * (1) The name is resolved when the connection is opened, and the policy checks
 *     the addresses (C-04, C-05). The connection stays on its address; after
 *     `AGE_MS_MAX` it is closed, so that changes of DNS take effect.
 * (2) The peer address from the system is checked again before a byte is sent.
 * (3) It has its own HTTP client, which never reconnects: the connection ends with
 *     its socket.
 * (4) A call on an idle connection that closes before a byte was sent goes to
 *     another connection. Any other interrupted call has failed.
 */
import { createRequire } from "node:module";
import { isIP, connect as netConnect, type Socket } from "node:net";
import { type SecureContext, connect as tlsConnect } from "node:tls";
import type { buildConnector, Client } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import { afterPoll } from "../../kernel/turn.ts";
import type { Attempt, Carrier } from "./attempt.ts";
import type { OutboundCall } from "./call.ts";
import type { DestinationGuard } from "./destination-policy.ts";
import { ConnectTimeout, DestinationRefused, failureText } from "./failure-text.ts";
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
/** See (1). */
const AGE_MS_MAX = 60_000;
const HEADER_BYTES_MAX = 32 * 1_024;

const CLIENT_OPTIONS = {
  pipelining: 1,
  // The attempt has one deadline for everything.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 4_000,
  keepAliveMaxTimeout: AGE_MS_MAX,
  maxHeaderSize: HEADER_BYTES_MAX,
  allowH2: false,
} as const;

const CLOSED = new Error("The connection is closed");

/** The package of the client, loaded with the first connection: it takes longer than all of our modules. */
const require = createRequire(import.meta.url);
const loadClient = (): typeof import("undici") => require("undici");

export class Connection implements Carrier {
  readonly #services: ConnectionServices;
  readonly #owner: ConnectionOwner;
  readonly #target: Target;
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

  /** Sends `attempt` over the idle connection. */
  send(attempt: Attempt): void {
    this.#take(attempt);
    this.#isReused = true;
    this.#dispatch(attempt);
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
    this.#client = new (loadClient().Client)(this.#target.clientOrigin, {
      ...CLIENT_OPTIONS,
      connect: (_options, callback) => this.#connect(addresses, callback),
    });
    this.#client.on("disconnect", () => this.destroy()); // keeps (3)
    this.#dispatch(attempt);
  }

  #dispatch(attempt: Attempt): void {
    const { method } = attempt.call;
    const { headers, body } = framed(attempt.call);
    this.#client?.dispatch(
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
      readInPieces(connected, () => this.#attempt?.stage !== "reading");
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
    const secured = tlsConnect({
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

/** Shorter bodies in pieces are joined: that is cheaper than passing the pieces. */
const JOINED_BYTES_MAX = 128 * 1_024;

/** The client accepts a list of pieces, although its type does not allow it, but does not count their bytes. */
function framed({
  headers,
  body,
}: OutboundCall): Pick<OutboundCall, "headers"> & { body: OutboundCall["body"] | null } {
  if (body.length === 0) return { headers, body: null };
  if (!Array.isArray(body)) return { headers, body };
  let bytes = 0;
  for (const piece of body) bytes += piece.length;
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
