/**
 * The tunnels of a link at one of its ends (`tunnel.ts`), by number, and their frames
 * (`frames.ts`). keeps (6) of those
 */
import { kinds, LinkFault, type LinkFrameReader } from "./frames.ts";
import type { LinkTunnel } from "./tunnel.ts";

export class LinkTunnels {
  readonly #open = new Map<number, LinkTunnel>();
  #lastNumber = 0;

  get size(): number {
    return this.#open.size;
  }

  /** The number of the next one. */
  get nextNumber(): number {
    return this.#lastNumber + 1;
  }

  add(tunnel: LinkTunnel): void {
    this.#lastNumber = tunnel.number;
    this.#open.set(tunnel.number, tunnel);
  }

  delete(tunnel: LinkTunnel): void {
    this.#open.delete(tunnel.number);
  }

  /** The tunnel of the frame; undefined if it has ended. Throws a `LinkFault` if it was never opened. */
  find({ number }: LinkFrameReader): LinkTunnel | undefined {
    const tunnel = this.#open.get(number);
    if (tunnel === undefined && (number === 0 || number > this.#lastNumber))
      throw new LinkFault(`tunnel ${number} was not opened`);
    return tunnel;
  }

  /** A frame that either side may send. Throws a `LinkFault` for other kinds. */
  receive(frame: LinkFrameReader): void {
    if (frame.kind < kinds.tunnelData || frame.kind > kinds.tunnelReset)
      throw new LinkFault(`a frame has the kind ${frame.kind}`);
    const tunnel = this.find(frame);
    switch (frame.kind) {
      case kinds.tunnelData:
        tunnel?.receive(frame);
        break;
      case kinds.tunnelCredit:
        tunnel?.receiveCredit(frame.uint32(0));
        break;
      case kinds.tunnelEnd:
        tunnel?.receiveEnd();
        break;
      default:
        tunnel?.lost();
    }
  }

  /** Called about once a second where timeouts are used. */
  check(nowMs: number): void {
    for (const tunnel of this.#open.values()) tunnel.check(nowMs);
  }

  /** The link has ended. */
  lose(): void {
    for (const tunnel of [...this.#open.values()]) tunnel.lost();
  }
}
