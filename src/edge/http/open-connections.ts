/**
 * The connections of a listener, and how they end in a drain.
 *
 * A drain waits only for complete requests: a client that has sent half a request
 * may never send the rest. Half a body is refused, and the client has a moment to
 * read the refusal. Half a head, an idle connection and a TLS handshake end at
 * once. A connection of HTTP/2 is there as a channel beside those of its streams:
 * to destroy it means GOAWAY, after which its open streams finish.
 */
import type { Server, Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import type { Channel } from "./transport.ts";

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

interface FollowOptions {
  readonly isEncrypted: boolean;
  /** The channel of a connection that speaks HTTP. */
  readonly channelOf: (socket: Socket) => Channel;
  readonly admits: (socket: Socket) => boolean;
}

/** Time for a client to read the refusal of its incomplete request. */
const REFUSED_MS = 250;

export class OpenConnections<Request extends PlacedRequest> {
  readonly #stateOf: (channel: Channel) => ConnectionState<Request> | undefined;
  /** All sockets below TLS, including those in a handshake. */
  readonly #all = new Set<Socket>();
  readonly #speaking = new Set<Channel>();
  /** Those that speak something else since a CONNECT request: others end them in a drain. */
  readonly #tunnels = new Set<Channel>();

  constructor(stateOf: (channel: Channel) => ConnectionState<Request> | undefined) {
    this.#stateOf = stateOf;
  }

  /** Tracks the connections that `admits` accepts. */
  follow(server: Server, { isEncrypted, channelOf, admits }: FollowOptions): void {
    server.on("connection", (socket: Socket) => {
      if (admits(socket)) addUntilClosed(this.#all, socket);
      else socket.destroy();
    });
    server.on(isEncrypted ? "secureConnection" : "connection", (socket: Socket) => {
      if (!socket.destroyed) this.add(channelOf(socket));
    });
  }

  /** Tracks a channel until it closes. */
  add(channel: Channel): void {
    addUntilClosed(this.#speaking, channel);
  }

  /** A connection is a tunnel from now on. */
  tunnel(channel: Channel): void {
    this.#speaking.delete(channel);
    addUntilClosed(this.#tunnels, channel);
  }

  /** Incomplete requests. */
  halfRequests(): readonly Request[] {
    return [...this.#speaking].flatMap((channel) => {
      const last = this.#stateOf(channel)?.waiting.at(-1);
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
    const spoken = new Set([...this.#tunnels].map(peerOf));
    for (const channel of this.#speaking) {
      spoken.add(peerOf(channel));
      const { owedCount = 0, isBroken = false } = this.#stateOf(channel) ?? {};
      if (owedCount === 0 && (areRefusedToo || !isBroken)) channel.destroy();
    }
    for (const socket of this.#all) if (!spoken.has(peerOf(socket))) socket.destroy();
  }
}

function addUntilClosed<Each extends Channel>(channels: Set<Each>, channel: Each): void {
  channels.add(channel);
  channel.once("close", () => channels.delete(channel));
}

/** The same for a TLS connection and the socket below it. */
function peerOf({ remoteAddress, remotePort }: Channel): string {
  return `${remoteAddress} ${remotePort}`;
}
