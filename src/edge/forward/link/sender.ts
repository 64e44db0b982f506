/**
 * Sends requests to the node that serves an area over links, many at a time over
 * one connection, and connections of RESP clients as tunnels of it. What links do
 * not carry goes over HTTP/1.1 (`pool-sender.ts`): probes, long bodies, tunnels to a
 * peer whose links have none, and everything to a peer without links.
 *
 * (1) A request or a tunnel takes one of the two ways, and only once.
 * (2) There is one link for each owner: its requests are handled together however
 *     many clients they have, and a second connection would only halve the requests
 *     that each write carries. A link that has ended is replaced by the next request.
 * (3) A former owner has CUT_MS for what it owes. Links with a former key end after
 *     their requests and tunnels.
 */
import type { Log } from "../../../kernel/log.ts";
import type { HttpRequest } from "../../handler.ts";
import type { NamedKey } from "../../http/shared-key.ts";
import type { ByteStream } from "../byte-stream.ts";
import type { Caller } from "../forwarded-head.ts";
import type { OwnerAddress, Sender, SendOutcome } from "../front.ts";
import { CUT_MS, PoolSender, type PoolSenderOptions, placeOf } from "../pool-sender.ts";
import { TunnelOpening } from "./asked-tunnels.ts";
import { Link } from "./asking-side.ts";
import { BODY_BYTES_MAX } from "./frames.ts";
import { Transit } from "./transit.ts";

export interface LinkSenderOptions extends PoolSenderOptions {
  /** Absent: links that break the protocol are not logged. */
  readonly log?: Log;
}

/** After so long, a peer without links is asked again whether it has them: it may be of a later version by then. */
export const PLAIN_MS = 10_000;

interface Way {
  readonly place: string;
  link: Link | undefined;
  /** Until then, its requests go over HTTP/1.1. */
  plainUntilMs: number;
}

export class LinkSender implements Sender {
  readonly #options: LinkSenderOptions;
  readonly #pool: PoolSender;
  #key: NamedKey;
  /** By `host:port`. */
  readonly #ways = new Map<string, Way>();
  /** The address of the last request, and its way. */
  #lastTo: OwnerAddress | undefined;
  #lastWay: Way | undefined;
  /** Links until their connections have closed. */
  readonly #links = new Map<Link, string>();

  constructor(options: LinkSenderOptions) {
    this.#options = options;
    this.#pool = new PoolSender(options);
    this.#key = options.key;
  }

  send(to: OwnerAddress, request: HttpRequest): Promise<SendOutcome> {
    if (request.body.length > BODY_BYTES_MAX) return this.#pool.send(to, request);
    const link = this.#linkTo(to);
    if (link === undefined) return this.#pool.send(to, request);
    return new Promise((resolve) => link.send(new Transit(request, resolve)));
  }

  openTunnel(to: OwnerAddress, caller: Caller, abandoned: AbortSignal): Promise<ByteStream | undefined> {
    const link = this.#linkTo(to);
    if (link === undefined) return this.#pool.openTunnel(to, caller, abandoned);
    return new Promise((done) => link.openTunnel(new TunnelOpening({ caller, abandoned, done })));
  }

  probe(to: OwnerAddress): Promise<boolean> {
    return this.#pool.probe(to);
  }

  offer(key: NamedKey): void {
    this.#pool.offer(key);
    if (key.name === this.#key.name) return;
    this.#key = key;
    for (const link of this.#links.keys()) link.finish(); // keeps (3)
  }

  follow(to: OwnerAddress | undefined): void {
    const kept = to === undefined ? undefined : placeOf(to);
    this.#lastTo = undefined;
    for (const place of this.#ways.keys()) if (place !== kept) this.#ways.delete(place);
    for (const [link, place] of this.#links) if (place !== kept) void link.end(CUT_MS); // keeps (3)
    this.#pool.follow(to);
  }

  async close(graceMs: number): Promise<void> {
    this.#lastTo = undefined;
    this.#ways.clear();
    await Promise.all([...[...this.#links.keys()].map((link) => link.end(graceMs)), this.#pool.close(graceMs)]);
  }

  /** Undefined: the peer has no links. */
  #linkTo(to: OwnerAddress): Link | undefined {
    const way = this.#wayTo(to);
    const { link } = way;
    if (link?.isUsable === true) return link;
    if (link?.isPlain === true) {
      way.link = undefined;
      way.plainUntilMs = this.#options.clock.monotonicMs() + PLAIN_MS;
    }
    if (way.plainUntilMs > 0 && this.#options.clock.monotonicMs() < way.plainUntilMs) return undefined;
    way.link = this.#open(to, way.place);
    return way.link;
  }

  #wayTo(to: OwnerAddress): Way {
    if (to === this.#lastTo && this.#lastWay !== undefined) return this.#lastWay;
    const place = placeOf(to);
    let way = this.#ways.get(place);
    if (way === undefined) {
      way = { place, link: undefined, plainUntilMs: 0 };
      this.#ways.set(place, way);
    }
    this.#lastTo = to;
    this.#lastWay = way;
    return way;
  }

  #open(to: OwnerAddress, place: string): Link {
    const { clock, log, shard = 0 } = this.#options;
    const link = new Link({
      ...{ to, key: this.#key, clock, log, shard },
      otherTunnel: (opening) =>
        void this.#pool.openTunnel(to, opening.caller, opening.abandoned).then((socket) => {
          if (opening.isOver) socket?.destroy();
          else opening.settle(socket);
        }),
      otherWay: (transit) => void this.#pool.send(to, transit.request).then((outcome) => transit.took(outcome)),
    });
    this.#links.set(link, place);
    void link.closed.then(() => this.#links.delete(link));
    return link;
  }
}
