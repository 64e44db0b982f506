/**
 * The RESP port of the store: connections of Redis clients, all in plain text or
 * all in TLS.
 *
 * (1) There are at most `connectionsMax` connections, and from one address as many
 *     as the gate admits. Further ones get an error and are closed, as in Redis.
 * (2) A connection whose token is revoked ends at once.
 * (3) Until the store serves, every request is answered with `-LOADING`.
 * (4) In a cluster a login may lead to another node (`routes`), and other nodes pass
 *     connections of clients on (`accept`), also to one that has no port of its own.
 *     They count as others, and for the address of their client. They stay here.
 */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { Database, Session, Store } from "../../store/mod.ts";
import type { Grant, TokenTable } from "../auth.ts";
import { type ByteStream, KEEP_ALIVE_MS } from "../forward/byte-stream.ts";
import type { Caller } from "../forward/forwarded-head.ts";
import { startListening } from "../http/socket-server.ts";
import type { CertificatePair } from "../http/transport.ts";
import type { ByteBudget } from "../limits/byte-budget.ts";
import { ConnectionGate, type ConnectionGateOptions } from "../limits/connection-gate.ts";
import { type ConnectionLimits, type CutReason, defaultConnectionLimits, RespConnection } from "./connection.ts";
import { type LoginRoutes, type LoginStore, RespLogin } from "./login.ts";
import type { ReplyJournal } from "./reply-queue.ts";

/** The store that connections use, or several that are one to them, with the journal that replies wait for. */
export type RespStore = Pick<Store, "openSession" | "turns"> &
  LoginStore &
  (ReplyJournal | { journalOf(login: RespLogin): ReplyJournal });

export interface RespListenerOptions {
  readonly store: RespStore;
  readonly tokens: Pick<TokenTable, "find" | "onRemoved">;
  /** Where other nodes serve databases; absent: nowhere. */
  readonly routes?: LoginRoutes | undefined;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Absent: connections are not encrypted. */
  readonly tls?: CertificatePair | undefined;
  readonly connectionsMax: number;
  /** Absent: no limit by address. */
  readonly gate?: Pick<ConnectionGateOptions, "proxies" | "perAddressMax" | "descriptorsMax">;
  /** Whether clients need no login if there is only one database. */
  readonly isOpenToAll: boolean;
  /** False while the store opens. */
  readonly isServing: () => boolean;
  /** The clock of the sockets. */
  readonly clock: Clock;
  /** The clock of the sessions. */
  readonly storeClock: Clock;
  readonly log: Log;
  /** Gets the error of each failed command; absent: nobody watches. */
  readonly onFailure?: ((text: Bytes) => void) | undefined;
  readonly budget: ByteBudget;
  /** Absent limits are those of `defaultConnectionLimits`. */
  readonly limits: Pick<ConnectionLimits, "requestBytesMax" | "replyBytesMax"> & Partial<ConnectionLimits>;
}

/** Connections beyond `connectionsMax` that may be open at once, to get their refusal or during a TLS handshake. */
const EXCESS_CONNECTIONS_MAX = 100;
/** Timeout of a TLS handshake. */
const HANDSHAKE_MS_MAX = 10_000;
/** How often to look whether the connections of a released database have ended. */
const RELEASE_LOOK_MS = 10;
/** Time for a peer to read the refusal. */
const REFUSED_MS = 2_000;

/** Tenant of connections that have not logged in. No database has this name. */
const ANONYMOUS = "(not logged in)";

const TOO_MANY_TEXT = "ERR max number of clients reached";
const TOO_MANY = `-${TOO_MANY_TEXT}\r\n`;

export class RespListener {
  readonly #options: RespListenerOptions;
  readonly #limits: ConnectionLimits;
  readonly #server: Server;
  readonly #tlsServer: TlsServer | undefined;
  readonly #logins = new Map<RespConnection, RespLogin>();
  readonly #gate: ConnectionGate | undefined;
  readonly #cutCounts = new Map<CutReason, number>();
  readonly #stopListening: () => void;
  acceptedCount = 0;
  rejectedCount = 0;
  receivedBytes = 0;
  sentBytes = 0;
  #port = 0;
  #isListening = false;
  #isDraining = false;
  /** Set when it accepts no more: resolves when the connections of the port have ended. */
  #stopped: Promise<unknown> | undefined;
  /** Called when the last connection has closed, in a drain. */
  #emptied: (() => void) | undefined;

  /** Throws if certificate and key are not valid or do not match. */
  constructor(options: RespListenerOptions) {
    const { tls, tokens, connectionsMax, clock, log, gate } = options;
    this.#options = options;
    this.#gate = gate && new ConnectionGate({ clock, log, ...gate });
    this.#limits = { ...defaultConnectionLimits, ...options.limits };
    // A peer that has ended its side still gets its replies.
    const shared = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    if (tls === undefined) this.#server = createServer(shared, (socket) => this.accept(socket));
    else {
      const { certificate: cert, key } = tls;
      const options = { ...shared, cert, key, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS_MAX } as const;
      this.#tlsServer = createTlsServer(options, (socket) => this.accept(socket));
      this.#server = this.#tlsServer;
      this.#server.on("tlsClientError", (_fault, socket: Socket) => {
        this.rejectedCount += 1;
        socket.destroy();
      });
    }
    this.#server.maxConnections = connectionsMax + EXCESS_CONNECTIONS_MAX;
    this.#server.on("drop", (drop) => {
      this.rejectedCount += 1;
      this.#gate?.refused("port", drop?.remoteAddress);
    });
    this.#stopListening = tokens.onRemoved((grant) => this.#revoke(grant));
  }

  /** Starts to listen. Rejects with the system's error if the address cannot be used. */
  async open(): Promise<void> {
    this.#port = await startListening(this.#server, this.#options);
    this.#isListening = true;
  }

  /** The real port, even if the options ask for any free port. */
  get port(): number {
    return this.#port;
  }

  /** New connections use this certificate. Throws if the pair is not valid. */
  readonly renewCertificate = ({ certificate: cert, key }: CertificatePair): void => {
    this.#tlsServer?.setSecureContext({ cert, key, minVersion: "TLSv1.2" });
  };

  get connectionCount(): number {
    return this.#logins.size;
  }

  /** Connections that the server has ended for this reason. */
  cutCount(reason: CutReason): number {
    return this.#cutCounts.get(reason) ?? 0;
  }

  /**
   * Stops accepting, lets connections answer the requests that they have read, and resolves when all are closed.
   * Destroys connections that are open after `graceMs`.
   */
  async close(graceMs: number): Promise<void> {
    this.stopAccepting();
    this.#stopListening();
    const cancel = this.#options.clock.after(graceMs, () => {
      for (const connection of [...this.#logins.keys()]) connection.destroy();
    });
    const emptied = this.#logins.size > 0 ? Promise.withResolvers<void>() : undefined;
    this.#emptied = emptied?.resolve;
    for (const connection of [...this.#logins.keys()]) connection.drain();
    await Promise.all([this.#stopped, emptied?.promise]);
    cancel();
  }

  /** Accepts no further connection. Those that are open go on. */
  stopAccepting(): void {
    this.#isDraining = true;
    this.#stopped ??= this.#isListening ? new Promise((resolve) => this.#server.close(resolve)) : Promise.resolve();
  }

  /** Ends the connections that are logged in to one of these databases, which another node will serve. */
  async release(databases: readonly Database[], graceMs: number): Promise<void> {
    const { clock } = this.#options;
    const released = (): readonly RespConnection[] =>
      [...this.#logins].flatMap(([connection, { database }]) =>
        database !== undefined && databases.includes(database) ? [connection] : [],
      );
    const endMs = clock.monotonicMs() + graceMs;
    while (released().length > 0 && clock.monotonicMs() < endMs) {
      // Again, since a command that was read may block.
      for (const connection of released()) connection.handOver();
      await new Promise<void>((resolve) => clock.after(RELEASE_LOOK_MS, resolve));
    }
    for (const connection of released()) connection.destroy();
  }

  /** Accepts the connection of a client; of `caller`, if another node passes it on. keeps (4) */
  accept(socket: ByteStream, caller?: Caller): void {
    const { store, tokens, isOpenToAll, connectionsMax, clock, log, budget, onFailure } = this.#options;
    const routes = caller === undefined ? this.#options.routes : undefined;
    if (this.#isDraining) {
      socket.destroy();
      return;
    }
    // keeps (1)
    if (this.#logins.size >= connectionsMax) {
      this.#gate?.refused("port", caller?.address ?? socket.remoteAddress);
      this.#refuse(socket);
      return;
    }
    const refusal = this.#gate?.refusalOf(socket, caller?.address);
    if (refusal !== undefined) {
      this.#refuse(socket);
      // Waiting for the peer would hold the descriptor.
      if (refusal === "descriptors") socket.destroy();
      return;
    }
    this.acceptedCount += 1;
    const login = new RespLogin({ store, tokens, isOpenToAll, routes });
    const connection = new RespConnection({
      ...{ socket, caller },
      isEncrypted: "encrypted" in socket,
      leaving: routes && { login, refusalOf: (stream) => this.#refusalOfTunnel(stream) },
      journal: "journalOf" in store ? store.journalOf(login) : store,
      clock,
      log,
      budget,
      anonymous: store.turns.tenant("store", ANONYMOUS),
      limits: this.#limits,
      openSession: (peer) => this.#openSession(peer, login),
      events: {
        received: (bytes) => {
          this.receivedBytes += bytes;
        },
        sent: (bytes) => {
          this.sentBytes += bytes;
        },
        cutOff: (reason) => void this.#cutCounts.set(reason, this.cutCount(reason) + 1),
        failed: onFailure,
        closed: (closed) => this.#closed(closed),
      },
    });
    this.#logins.set(connection, login);
  }

  #closed(connection: RespConnection): void {
    this.#logins.delete(connection);
    if (this.#logins.size === 0) this.#emptied?.();
  }

  #refusalOfTunnel(socket: ByteStream): Bytes | undefined {
    if (this.#gate?.lacksDescriptors(socket) !== true) return undefined;
    this.#gate.refused("descriptors", socket.remoteAddress);
    return TOO_MANY_TEXT;
  }

  /** keeps (3) */
  #openSession(peer: RespConnection, login: RespLogin): Session | undefined {
    const { store, storeClock: clock, isServing } = this.#options;
    return isServing() ? store.openSession({ peer, login, clock }) : undefined;
  }

  #refuse(socket: ByteStream): void {
    this.rejectedCount += 1;
    const cancel = this.#options.clock.after(REFUSED_MS, () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", cancel);
    socket.on("end", () => socket.destroySoon());
    socket.resume();
    socket.end(TOO_MANY, "latin1");
  }

  /** keeps (2) */
  #revoke(grant: Grant): void {
    for (const [connection, login] of [...this.#logins]) if (login.grant === grant) connection.revoke();
  }
}
