/**
 * The tunnels of a link at the node that asks (`tunnel.ts`): how they are opened.
 *
 * (1) An attempt ends once: with a tunnel, with undefined if the owner takes none or
 *     cannot be reached, or in the hands of the other way.
 * (2) A client that has gone ends its attempt at once, and the tunnel at the owner.
 */
import type { ByteStream } from "../byte-stream.ts";
import type { Caller } from "../forwarded-head.ts";
import { kinds, LinkFault, type LinkFrameReader, NUMBER_MAX, TUNNELS_MAX } from "./frames.ts";
import { Pumping } from "./pumping.ts";
import { LinkTunnel, type TunnelLink } from "./tunnel.ts";
import { LinkTunnels } from "./tunnel-set.ts";

export interface TunnelOpeningOptions {
  readonly caller: Caller;
  /** Aborted when the client has gone. */
  readonly abandoned: AbortSignal;
  readonly done: (stream: ByteStream | undefined) => void;
}

/** An attempt to open a tunnel. */
export class TunnelOpening {
  readonly caller: Caller;
  readonly abandoned: AbortSignal;
  /** Set when the owner has been asked. */
  tunnel: LinkTunnel | undefined;
  #done: ((stream: ByteStream | undefined) => void) | undefined;

  constructor({ caller, abandoned, done }: TunnelOpeningOptions) {
    this.caller = caller;
    this.abandoned = abandoned;
    this.#done = done;
    abandoned.addEventListener("abort", this.#abandon, { once: true });
    if (abandoned.aborted) this.#abandon();
  }

  get isOver(): boolean {
    return this.#done === undefined;
  }

  /** keeps (1) */
  settle(stream: ByteStream | undefined): void {
    const done = this.#done;
    this.#done = undefined;
    this.abandoned.removeEventListener("abort", this.#abandon);
    done?.(stream);
  }

  /** keeps (2) */
  readonly #abandon = (): void => {
    this.settle(undefined);
    this.tunnel?.destroy();
  };
}

export interface AskedTunnelsOptions extends Pick<TunnelLink, "frames" | "isCongested" | "addresses" | "wrote"> {
  /** One has ended. */
  left(): void;
}

export class AskedTunnels implements TunnelLink {
  readonly growth = { bytes: 0 };
  readonly #link: AskedTunnelsOptions;
  readonly #tunnels = new LinkTunnels();
  readonly #openings = new Map<LinkTunnel, TunnelOpening>();
  readonly #pumping = new Pumping();

  constructor(link: AskedTunnelsOptions) {
    this.#link = link;
  }

  get frames(): TunnelLink["frames"] {
    return this.#link.frames;
  }

  get isCongested(): boolean {
    return this.#link.isCongested;
  }

  get addresses(): TunnelLink["addresses"] {
    return this.#link.addresses;
  }

  /** Those that are open, or being opened. */
  get size(): number {
    return this.#tunnels.size;
  }

  get hasRoom(): boolean {
    return this.#tunnels.size < TUNNELS_MAX && this.#tunnels.nextNumber <= NUMBER_MAX;
  }

  /** Whether a tunnel waits for its turn. */
  get isPumping(): boolean {
    return this.#pumping.size > 0;
  }

  /** Asks for a tunnel to this shard. There must be room. */
  open(opening: TunnelOpening, shard: number): void {
    if (opening.isOver) return;
    const { address, port } = opening.caller;
    const tunnel = new LinkTunnel(this, this.#tunnels.nextNumber);
    this.#tunnels.add(tunnel);
    this.#openings.set(tunnel, opening);
    opening.tunnel = tunnel;
    this.frames.begin(kinds.open, tunnel.number, 6 + address.length);
    this.frames.uint32(shard);
    this.frames.uint16(port);
    this.frames.text(address);
    this.wrote();
  }

  /** A frame about a tunnel. */
  receive(frame: LinkFrameReader): void {
    if (frame.kind === kinds.opened) this.#receiveOpened(frame);
    else if (this.#openings.size > 0 && this.#isOpening(frame))
      throw new LinkFault(`tunnel ${frame.number} is not open`);
    else this.#tunnels.receive(frame);
  }

  #receiveOpened(frame: LinkFrameReader): void {
    const tunnel = this.#tunnels.find(frame);
    if (tunnel === undefined) return; // Its client has gone.
    const opening = this.#openings.get(tunnel);
    if (opening === undefined) throw new LinkFault(`tunnel ${frame.number} is opened twice`);
    this.#openings.delete(tunnel);
    opening.settle(tunnel);
  }

  /** Whether the owner has not answered yet, and this frame is no answer. */
  #isOpening(frame: LinkFrameReader): boolean {
    const tunnel = this.#tunnels.find(frame);
    return tunnel !== undefined && this.#openings.has(tunnel) && frame.kind !== kinds.tunnelReset;
  }

  /** Those that have waited send as much as the link may take. */
  sendPieces(): void {
    this.#pumping.run(this);
  }

  /** The link has ended. */
  lose(): void {
    this.#tunnels.lose();
  }

  wrote(): void {
    this.#link.wrote();
  }

  pump(tunnel: LinkTunnel): void {
    if (!tunnel.canSend) return;
    this.#pumping.add(tunnel);
    this.wrote();
  }

  left(tunnel: LinkTunnel): void {
    this.#tunnels.delete(tunnel);
    this.#pumping.delete(tunnel);
    const opening = this.#openings.get(tunnel);
    this.#openings.delete(tunnel);
    opening?.settle(undefined);
    this.#link.left();
  }
}
