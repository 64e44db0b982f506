/**
 * The connections that a listener has, and how they end in a drain.
 *
 * A drain waits for requests that have come whole, and for no others: whoever
 * has sent half of one may never send the rest. Half a body is refused, and its
 * sender has a moment to take the refusal; half a head, a connection that rests
 * and a handshake of TLS are ended at once.
 */
import type { Server, Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";

/** A request in its place on a connection. */
export interface PlacedRequest {
  /** All of it has come. */
  readonly isWhole: boolean;
  /** Refuses it because the listener stops. */
  refuseHalf(): void;
}

/** What is known of a connection that speaks HTTP. */
export interface ConnectionState<Request extends PlacedRequest> {
  /** Whole requests whose reply is not out. */
  readonly owedCount: number;
  /** A request was refused; nothing else is handled. */
  readonly isBroken: boolean;
  /** Requests that are not handled yet; only the last one may be half. */
  readonly waiting: readonly Request[];
}

/** How long a drain waits until a client has taken the refusal of its half-sent request. */
const REFUSED_MS = 250;

export class OpenConnections<Request extends PlacedRequest> {
  readonly #stateOf: (socket: Socket) => ConnectionState<Request> | undefined;
  /** All of them: below TLS, those within their handshake too. */
  readonly #all = new Set<Socket>();
  readonly #speaking = new Set<Socket>();

  constructor(stateOf: (socket: Socket) => ConnectionState<Request> | undefined) {
    this.#stateOf = stateOf;
  }

  /** Follows the connections of a server that are not refused. */
  follow(server: Server, { isEncrypted, admits }: { isEncrypted: boolean; admits: (socket: Socket) => boolean }): void {
    server.on("connection", (socket: Socket) => {
      if (admits(socket)) keepUntilClosed(this.#all, socket);
      else socket.destroy();
    });
    server.on(isEncrypted ? "secureConnection" : "connection", (socket: Socket) => {
      if (!socket.destroyed) keepUntilClosed(this.#speaking, socket);
    });
  }

  /** Requests of which a part has come. */
  halfRequests(): readonly Request[] {
    return [...this.#speaking].flatMap((socket) => {
      const last = this.#stateOf(socket)?.waiting.at(-1);
      return last === undefined || last.isWhole ? [] : [last];
    });
  }

  destroyAll(): void {
    for (const socket of this.#all) socket.destroy();
  }

  /** Begins a drain. The returned function ends what it still waits for. */
  drain(clock: Clock): () => void {
    for (const request of this.halfRequests()) request.refuseHalf();
    this.#endUnowed(false);
    return clock.after(REFUSED_MS, () => this.#endUnowed(true));
  }

  /** Ends the connections that wait for no reply, those that were refused only with `areRefusedToo`. */
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

function keepUntilClosed(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}

/** The same for a connection within TLS and the one below it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
