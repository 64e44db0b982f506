/**
 * A link at the node that asks: one connection to a port of another node
 * (`frames.ts`), opened for its first request.
 *
 * (1) A request is given to it once. It was certainly not carried out if it was not
 *     yet in a write to a connection whose handshake was complete.
 * (2) Requests of a turn of the event loop leave as one write.
 * (3) A peer that knows no links takes HTTP/1.1 in the handshake: then nothing was
 *     sent, and all requests take the other way.
 * (4) A link that is to end ends after its requests and its tunnels.
 * (5) Tunnels go the other way to a peer that knows links without them. Their bytes
 *     leave with the requests of the turn (2), unless many bytes wait for the peer.
 */
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import type { HttpRequest } from "../../handler.ts";
import { connectWithKey, type NamedKey } from "../../http/shared-key.ts";
import { KEEP_ALIVE_MS } from "../byte-stream.ts";
import type { OwnerAddress } from "../front.ts";
import { AskedTunnels, type TunnelOpening } from "./asked-tunnels.ts";
import {
  HEAD_BYTES_MAX,
  HEADS_MAX,
  KEPT_HEAD_BYTES_MAX,
  kinds,
  LINK_PROTOCOL,
  LINK_PROTOCOLS,
  LinkFault,
  LinkFrameReader,
  LinkFrameWriter,
  NUMBER_MAX,
  PUMPED_BYTES_MAX,
  SYNC_TOKEN_BYTES_MAX,
  writeChunks,
} from "./frames.ts";
import { headText, PlacedHead, syncTokenAt } from "./heads.ts";
import type { Transit, TransitLink } from "./transit.ts";
import { UnderWay } from "./under-way.ts";

export interface LinkOptions {
  readonly to: OwnerAddress;
  readonly key: NamedKey;
  readonly clock: Clock;
  readonly log: Log | undefined;
  /** Takes a request that this link cannot carry, of which nothing was sent. */
  readonly otherWay: (transit: Transit) => void;
  /** The shard that tunnels ask for, and what opens those that this link cannot carry. */
  readonly shard: number;
  readonly otherTunnel: (opening: TunnelOpening) => void;
}

/** Longer than a packet that was lost once needs. */
const CONNECT_MS_MAX = 2_000;
/** A link ends after one to two of these times without a request or a tunnel, before its peer would end it (edge/limits/listener.ts). */
const IDLE_LOOK_MS = 15_000;

export class Link implements TransitLink {
  readonly clock: Clock;
  /** Resolves when its connection has closed. */
  readonly closed: Promise<void>;
  /** It takes further requests. */
  isUsable = true;
  /** Its peer has chosen HTTP/1.1. */
  isPlain = false;
  readonly #options: LinkOptions;
  readonly #socket: TLSSocket;
  readonly #reader = new LinkFrameReader();
  readonly #frames = new LinkFrameWriter();
  #isOpen = false;
  /** Requests that came before the handshake was complete. */
  #waiting: Transit[] = [];
  #waitingTunnels: TunnelOpening[] = [];
  readonly #tunnels: AskedTunnels;
  /** Requests whose answer is not complete. */
  readonly #underWay = new UnderWay<Transit>();
  #lastNumber = 0;
  /** The last request of which something was handed to the connection. */
  #handedNumber = 0;
  /** By place; the first one is not used. */
  readonly #heads: (PlacedHead | undefined)[] = [];
  #lastPlace = 0;
  #isFlushPlanned = false;
  #hadRequest = false;
  #cancelLook: () => void = () => {};

  constructor(options: LinkOptions) {
    const { to, key, clock } = options;
    this.#options = options;
    this.clock = clock;
    const socket = connectWithKey(to, key, [...LINK_PROTOCOLS, "http/1.1"]);
    this.#socket = socket;
    this.#tunnels = this.#newTunnels();
    const cancel = clock.real.after(CONNECT_MS_MAX, () => socket.destroy());
    socket.setNoDelay(true);
    // Tunnels may be idle for long, and a machine that is gone ends none.
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // The socket closes itself then.
    socket.on("error", () => {});
    socket.once("secureConnect", () => {
      cancel();
      this.#opened();
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        cancel();
        this.#close();
        resolve();
      });
    });
  }

  /** Takes a request. Its link must be usable. */
  send(transit: Transit): void {
    this.#hadRequest = true;
    if (this.#isOpen) this.#write(transit);
    else this.#waiting.push(transit);
  }

  /** Opens a tunnel, or has it opened another way. The link must be usable. */
  openTunnel(opening: TunnelOpening): void {
    if (!this.#isOpen) this.#waitingTunnels.push(opening);
    else if (this.#socket.alpnProtocol === LINK_PROTOCOL && this.#tunnels.hasRoom)
      this.#tunnels.open(opening, this.#options.shard);
    else if (!opening.isOver) this.#options.otherTunnel(opening); // keeps (5)
  }

  #newTunnels(): AskedTunnels {
    const link = this;
    return new AskedTunnels({
      frames: this.#frames,
      addresses: this.#socket,
      get isCongested() {
        return link.#frames.size + link.#socket.writableLength > PUMPED_BYTES_MAX;
      },
      wrote: () => this.#planFlush(),
      left: () => {
        if (!this.isUsable) this.#endIfDone();
      },
    });
  }

  /** Gets no more requests, and ends after those that it has. keeps (4) */
  finish(): void {
    this.isUsable = false;
    this.#endIfDone();
  }

  /** The same, but requests that are not sent yet are refused, and those that take longer than `graceMs` end then. */
  async end(graceMs: number): Promise<void> {
    this.#refuseWaiting();
    this.finish();
    if (this.#socket.closed) return;
    const cancel = this.clock.after(graceMs, () => this.#socket.destroy());
    await this.closed;
    cancel();
  }

  credit(number: number, bytes: number): void {
    this.#frames.begin(kinds.credit, number, 4);
    this.#frames.uint32(bytes);
    this.#planFlush();
  }

  done(number: number, { isCancelled }: { readonly isCancelled: boolean }): void {
    this.#underWay.delete(number);
    if (isCancelled) {
      this.#frames.begin(kinds.cancel, number, 0);
      this.#planFlush();
    }
    if (!this.isUsable) this.#endIfDone();
  }

  /** The handshake is complete. */
  #opened(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const waitingTunnels = this.#waitingTunnels;
    this.#waitingTunnels = [];
    if (!LINK_PROTOCOLS.includes(String(this.#socket.alpnProtocol))) {
      this.isPlain = true;
      this.isUsable = false;
      // So that the peer sees the end of the handshake, and does not take this node for a stranger.
      this.#socket.destroySoon();
      for (const transit of waiting) this.#options.otherWay(transit); // keeps (3)
      for (const opening of waitingTunnels) if (!opening.isOver) this.#options.otherTunnel(opening);
      return;
    }
    this.#isOpen = true;
    this.#socket.on("data", (packet: Buffer) => this.#read(packet));
    this.#socket.on("drain", () => {
      if (this.#tunnels.isPumping) this.#planFlush();
    });
    for (const transit of waiting) this.#write(transit);
    for (const opening of waitingTunnels) this.openTunnel(opening);
    this.#lookForIdle();
    if (!this.isUsable) this.#endIfDone();
  }

  #write(transit: Transit): void {
    const { request } = transit;
    const head = this.#headOf(request);
    if (head === "unsendable") transit.took({ kind: "unsendable" });
    else if (head === "too long") this.#options.otherWay(transit);
    else this.#writeRequest(transit, head);
  }

  #writeRequest(transit: Transit, head: PlacedHead | undefined): void {
    const { request } = transit;
    const { body } = request;
    const frames = this.#frames;
    const number = this.#lastNumber + 1;
    this.#lastNumber = number;
    if (number === NUMBER_MAX) this.isUsable = false;
    const syncToken = head === undefined ? "" : syncTokenOf(request, head);
    frames.begin(kinds.request, number, 6 + syncToken.length + body.length);
    frames.uint32(head?.place ?? 0);
    frames.uint16(syncToken.length);
    frames.text(syncToken);
    frames.copy(body);
    transit.sent(this, number);
    this.#underWay.add(transit);
    this.#planFlush();
  }

  /** A place that the peer knows, or nothing for a head that it has just been sent. */
  #headOf(request: HttpRequest): PlacedHead | undefined | "unsendable" | "too long" {
    const { memo } = request;
    const known = memo?.sentAs;
    const isKnown = known instanceof PlacedHead && known.link === this && !known.isForgotten;
    const isLong = isKnown && known.syncAt !== undefined && syncTokenOf(request, known).length > SYNC_TOKEN_BYTES_MAX;
    if (isKnown && !isLong) return known;
    const text = headText(request);
    if (text === undefined) return "unsendable";
    if (text.length > HEAD_BYTES_MAX) return "too long";
    const syncAt = memo === undefined ? -1 : syncTokenAt(request.rawHeaders);
    const isKept = memo !== undefined && !isLong && syncAt !== -1 && text.length <= KEPT_HEAD_BYTES_MAX;
    const head = isKept ? this.#place(syncAt) : undefined;
    if (memo !== undefined && head !== undefined) memo.sentAs = head;
    this.#frames.begin(kinds.head, head?.place ?? 0, text.length);
    this.#frames.text(text);
    return head;
  }

  /** The next place, whose head is forgotten. A head that is still used gets another place. */
  #place(syncAt: number | undefined): PlacedHead {
    this.#lastPlace = this.#lastPlace === HEADS_MAX ? 1 : this.#lastPlace + 1;
    const before = this.#heads[this.#lastPlace];
    if (before !== undefined) before.isForgotten = true;
    const head = new PlacedHead(this, this.#lastPlace, syncAt);
    this.#heads[this.#lastPlace] = head;
    return head;
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(this.#flush);
  }

  /** keeps (2) */
  readonly #flush = (): void => {
    this.#isFlushPlanned = false;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (this.#tunnels.isPumping) this.#tunnels.sendPieces();
    this.#handedNumber = this.#lastNumber; // keeps (1)
    writeChunks(socket, this.#frames.take());
    // Otherwise they go on when the peer has taken bytes.
    if (this.#tunnels.isPumping && !socket.writableNeedDrain) this.#planFlush();
    if (!this.isUsable) this.#endIfDone();
  };

  #read(packet: Buffer): void {
    const reader = this.#reader;
    try {
      reader.add(packet);
      while (reader.next()) this.#receive(reader);
    } catch (fault) {
      if (!(fault instanceof LinkFault)) throw fault;
      const { node, host, port } = this.#options.to;
      this.#options.log?.warn("a link to another node broke the protocol", { fault: fault.message, node, host, port });
      this.#socket.destroy();
    }
  }

  #receive(reader: LinkFrameReader): void {
    const { kind, number } = reader;
    if (kind === kinds.goodbye) {
      this.finish();
      return;
    }
    if (kind >= kinds.open && this.#socket.alpnProtocol === LINK_PROTOCOL) {
      this.#tunnels.receive(reader);
      return;
    }
    if (number === 0 || number > this.#handedNumber) throw new LinkFault(`request ${number} was not sent`);
    // Undefined: it was cancelled.
    const transit = this.#underWay.find(number);
    switch (kind) {
      case kinds.answer:
        transit?.answer(reader);
        break;
      case kinds.begin:
        transit?.begin(reader);
        break;
      case kinds.data:
        transit?.data(reader);
        break;
      case kinds.end:
        transit?.end();
        break;
      case kinds.reset:
        this.#underWay.delete(number);
        transit?.fail({ isSent: true });
        if (!this.isUsable) this.#endIfDone();
        break;
      default:
        throw new LinkFault(`a frame has the kind ${kind}`);
    }
  }

  /** keeps (4) */
  #endIfDone(): void {
    if (this.#underWay.size > 0 || this.#waiting.length > 0 || this.#isFlushPlanned) return;
    if (this.#tunnels.size > 0 || this.#waitingTunnels.length > 0) return;
    if (this.#isOpen) this.#socket.destroySoon();
    else this.#socket.destroy();
  }

  #lookForIdle(): void {
    this.#cancelLook = this.clock.real.after(IDLE_LOOK_MS, () => {
      if (!this.#hadRequest && this.#underWay.size === 0 && this.#tunnels.size === 0) this.finish();
      else {
        this.#hadRequest = false;
        this.#lookForIdle();
      }
    });
  }

  /** keeps (1) */
  #close(): void {
    this.isUsable = false;
    this.#isOpen = false;
    this.#cancelLook();
    this.#refuseWaiting();
    this.#tunnels.lose();
    const underWay = this.#underWay.values();
    this.#underWay.clear();
    for (const transit of underWay) transit.fail({ isSent: transit.number <= this.#handedNumber });
  }

  /** Nothing of them was sent. */
  #refuseWaiting(): void {
    for (const transit of this.#waiting.splice(0)) transit.fail({ isSent: false });
    for (const opening of this.#waitingTunnels.splice(0)) opening.settle(undefined);
  }
}

/** Empty for a head without one. */
function syncTokenOf(request: HttpRequest, { syncAt }: PlacedHead): string {
  // Only then, since the list of headers is made on demand.
  return syncAt === undefined ? "" : (request.rawHeaders[syncAt] as string);
}
