/**
 * Tunnels over connections of their own, to a node whose links have none (`link/tunnel.ts`): connections of RESP clients that go on to the node that serves their
 * database. A tunnel begins with a CONNECT request to the port for forwarded
 * requests. After the answer 200 its bytes are those of the client.
 *
 * (1) Before the answer nothing of the client is sent, so an attempt that fails has
 *     carried nothing out, and may be made again.
 * (2) A tunnel ends by itself, with its client or with the owner. Those to a node
 *     that has lost its shard are ended, since a machine that is gone ends none.
 */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import { KEEP_ALIVE_MS } from "./byte-stream.ts";
import { isUnsendable, type Traveller } from "./departures.ts";

export interface TunnelRequest {
  /** `host:port` of the owner. */
  readonly place: string;
  readonly target: string;
  /** Name, value, name, value, … */
  readonly headers: string[];
  /** Aborted when the client has gone. */
  readonly abandoned: AbortSignal;
}

const OK = 200;
const ABANDONED = new Error("The client has gone");

export class Tunnels {
  readonly #clock: Pick<Clock, "after">;
  /** The open ones, with the place of their owner. */
  readonly #places = new Map<Socket, string>();

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** The connection, paused; undefined if the owner refused it or could not be connected to. Never rejects. */
  async open(
    connections: { dispatch(options: Dispatcher.DispatchOptions, traveller: Traveller): void },
    { place, target, headers, abandoned }: TunnelRequest,
  ): Promise<Socket | undefined> {
    const socket = await new Promise<Socket | undefined>((resolve) => {
      const opening = new Opening(abandoned, resolve);
      connections.dispatch({ path: target, method: "CONNECT", headers, body: null }, opening);
    });
    if (socket === undefined) return undefined;
    // Each side ends by itself.
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#places.set(socket, place);
    socket.once("close", () => this.#places.delete(socket));
    return socket;
  }

  /** Ends the tunnels to other places after this time. keeps (2) */
  endOthers(kept: string | undefined, graceMs: number): void {
    const ending = [...this.#places].filter(([, place]) => place !== kept).map(([socket]) => socket);
    if (ending.length === 0) return;
    const cancel = this.#clock.after(graceMs, () => {
      for (const socket of ending) socket.destroy();
    });
    void whenClosed(ending).then(cancel);
  }

  /** Resolves when all have ended; those that are open after this time end then. */
  async close(graceMs: number): Promise<void> {
    const open = [...this.#places.keys()];
    if (open.length === 0) return;
    const cancel = this.#clock.after(graceMs, () => {
      for (const socket of open) socket.destroy();
    });
    await whenClosed(open);
    cancel();
  }
}

/** A CONNECT request on its way. */
class Opening implements Traveller {
  onLeft: ((isConnected: boolean) => void) | undefined;
  readonly #abandoned: AbortSignal;
  #done: ((socket: Socket | undefined) => void) | undefined;
  #abort: () => void = () => {};

  constructor(abandoned: AbortSignal, done: (socket: Socket | undefined) => void) {
    this.#abandoned = abandoned;
    this.#done = done;
    abandoned.addEventListener("abort", this.#leaveClient, { once: true });
  }

  /** The client waits no longer, whether there is a connection already or not. */
  readonly #leaveClient = (): void => {
    this.#abort();
    this.#settle(undefined);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#leave({ isConnected: true });
    this.#abort = () => controller.abort(ABANDONED);
    if (this.#abandoned.aborted) this.#abort();
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    socket: Duplex,
  ): void {
    // The HTTP client has let go of it.
    socket.on("error", () => {});
    const isOpen = status === OK && !this.#abandoned.aborted && socket instanceof Socket;
    if (!isOpen) socket.destroy();
    this.#settle(isOpen ? socket : undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, fault: Error): void {
    this.failed(fault);
  }

  failed(fault: unknown): void {
    this.#leave({ isConnected: isUnsendable(fault) });
    this.#settle(undefined);
  }

  refused(): void {
    this.#settle(undefined);
  }

  #leave({ isConnected }: { readonly isConnected: boolean }): void {
    const { onLeft } = this;
    this.onLeft = undefined;
    onLeft?.(isConnected);
  }

  #settle(socket: Socket | undefined): void {
    this.#abandoned.removeEventListener("abort", this.#leaveClient);
    this.#done?.(socket);
    this.#done = undefined;
  }
}

function whenClosed(sockets: readonly Socket[]): Promise<unknown> {
  return Promise.all(
    sockets.map(
      (socket) => new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once("close", resolve))),
    ),
  );
}
