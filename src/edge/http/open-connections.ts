/**
 * The connections of a listener, and how they end in a drain.
 *
 * A drain waits only for complete requests: a client that has sent half a request
 * may never send the rest. Half a body is refused, and the client has a moment to
 * read the refusal. Half a head, an idle connection and a TLS handshake end at
 * once.
 */
import type { Server, Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";

/** A request on its connection. */
export interface PlacedRequest {
  /** Received completely. */
  readonly isWhole: boolean;
  /** Refuses an incomplete request because the listener stops. */
  refuseHalf(): void;
}

/** The state of a connection that speaks HTTP. */
export interface ConnectionState<Request extends PlacedRequest> {
  /** Complete requests whose reply has not been sent. */
  readonly owedCount: number;
  /** A request was refused; later ones are not handled. */
  readonly isBroken: boolean;
  /** Requests that are not handled yet; only the last one may be incomplete. */
  readonly waiting: readonly Request[];
}

/** Time for a client to read the refusal of its incomplete request. */
const REFUSED_MS = 250;

export class OpenConnections<Request extends PlacedRequest> {
  readonly #stateOf: (socket: Socket) => ConnectionState<Request> | undefined;
  /** All sockets below TLS, including those in a handshake. */
  readonly #all = new Set<Socket>();
  readonly #speaking = new Set<Socket>();

  constructor(stateOf: (socket: Socket) => ConnectionState<Request> | undefined) {
    this.#stateOf = stateOf;
  }

  /** Tracks the connections that `admits` accepts. */
  follow(server: Server, { isEncrypted, admits }: { isEncrypted: boolean; admits: (socket: Socket) => boolean }): void {
    server.on("connection", (socket: Socket) => {
      if (admits(socket)) addUntilClosed(this.#all, socket);
      else socket.destroy();
    });
    server.on(isEncrypted ? "secureConnection" : "connection", (socket: Socket) => {
      if (!socket.destroyed) addUntilClosed(this.#speaking, socket);
    });
  }

  /** Incomplete requests. */
  halfRequests(): readonly Request[] {
    return [...this.#speaking].flatMap((socket) => {
      const last = this.#stateOf(socket)?.waiting.at(-1);
      return last === undefined || last.isWhole ? [] : [last];
    });
  }

  destroyAll(): void {
    for (const socket of this.#all) socket.destroy();
  }

  /** Begins a drain. The returned function cancels its timer. */
  drain(clock: Clock): () => void {
    for (const request of this.halfRequests()) request.refuseHalf();
    this.#endUnowed(false);
    return clock.after(REFUSED_MS, () => this.#endUnowed(true));
  }

  /** Ends the connections that wait for no reply; refused ones only with `areRefusedToo`. */
  #endUnowed(areRefusedToo: boolean): void {
    const spoken = new Set<string>();
    for (const socket of this.#speaking) {
      spoken.add(peerOf(socket));
      const { owedCount = 0, isBroken = false } = this.#stateOf(socket) ?? {};
      if (owedCount === 0 && (areRefusedToo || !isBroken)) socket.destroy();
    }
    for (const socket of this.#all) if (!spoken.has(peerOf(socket))) socket.destroy();
  }
}

function addUntilClosed(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}

/** The same for a TLS connection and the socket below it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
