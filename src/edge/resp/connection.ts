/**
 * One connection of the RESP port: reads requests, gives them to its session
 * one by one, and writes what the session answers.
 *
 *     open -> ending (what was said is written) -> closed
 *
 * (1) Commands run in the order in which they came, and so do their replies,
 *     which leave when the journal lets them (reply-queue.ts). What is told
 *     besides, because somebody listens, stands behind the reply of the command
 *     that runs.
 * (2) While a command waits, while too much has not been read by the peer, and
 *     while others have their turn, no command runs, and only so much is read
 *     that we learn when the peer goes away.
 * (3) Who listens is not asked whether there is room: it costs at most
 *     `listeningBytesMax`, and at most `slowBytesMax` for longer than `slowMs`
 *     (threats A-17). Who takes none of its replies for `stalledMs` is cut off
 *     too, when they are too many or memory is short.
 * (4) When the socket has closed, the session is closed, once.
 */
import type { Socket } from "node:net";
import { AssertionFailure } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { CommandError, type Push, type Reply } from "../../store/mod.ts";
import type { SessionPeer } from "../../store/session/peer.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { type RespVersion, resp2Result, resp3Result, respError } from "../reply-resp.ts";
import { pushText } from "./push-text.ts";
import { type ReplyJournal, ReplyQueue } from "./reply-queue.ts";
import { RequestParser } from "./request-parser.ts";

/** What a connection needs of a session of the store. */
export interface Conversation {
  execute(words: Bytes[]): void;
  readonly isWaiting: boolean;
  readonly respVersion: RespVersion;
  readonly isAuthenticated: boolean;
  readonly isListening: boolean;
  close(): void;
  kill(): void;
}

export interface ConnectionLimits {
  readonly requestBytesMax: number;
  readonly replyBytesMax: number;
  /** Replies that the peer has not read; above it no command of its runs. */
  readonly queuedBytesMax: number;
  /** How long it may take none of them. */
  readonly stalledMs: number;
  /** What may wait for a peer that listens, and what may wait for long, and how long. */
  readonly listeningBytesMax: number;
  readonly slowBytesMax: number;
  readonly slowMs: number;
}

const MB = 2 ** 20;

/** All but what the settings of the store decide. */
export const defaultConnectionLimits: Omit<ConnectionLimits, "requestBytesMax" | "replyBytesMax"> = {
  // Clients may write a whole pipeline before they read, so this is large: they would wait for each other for ever.
  queuedBytesMax: 32 * MB,
  stalledMs: 60_000,
  listeningBytesMax: 32 * MB,
  slowBytesMax: 8 * MB,
  slowMs: 60_000,
};

/** Why we ended a connection that its peer would have kept. */
export const cutReasons = ["too slow", "malformed request", "no memory", "token revoked", "failed"] as const;

export type CutReason = (typeof cutReasons)[number];

export interface ConnectionOptions {
  readonly socket: Socket;
  readonly journal: ReplyJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: ConnectionLimits;
  /** Shared by the listeners of a thread: requests that have not all come, and replies that were not taken. */
  readonly budget: ByteBudget;
  /** Begins the conversation; undefined while the store is still opening. Asked when the first request comes. */
  readonly converse: (connection: RespConnection) => Conversation | undefined;
  readonly events: ConnectionEvents;
}

export interface ConnectionEvents {
  received(bytes: number): void;
  sent(bytes: number): void;
  cutOff(reason: CutReason): void;
  closed(connection: RespConnection): void;
}

/** After so many commands, or so long, a connection lets others in between (spec: store 1.12). */
const COMMANDS_PER_TURN_MAX = 1_000;
const TURN_MS_MAX = 5;
const COMMANDS_PER_LOOK = 64;
/** So much is read of a peer whose commands cannot run now. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** Requests that have not all come, and replies that were not taken, count in the budget from here on. */
const COUNTED_BYTES_MIN = 64 * 1024;
/** Replies of one turn are given on in parts of about this size. */
const FLUSH_BYTES = 256 * 1024;
/** How long a peer has to end a connection that we have ended. */
const ENDED_MS = 2_000;

const LOADING = "-LOADING larder is loading its data\r\n";

export class RespConnection implements SessionPeer {
  readonly address: string;
  readonly localAddress: string;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #parser: RequestParser;
  readonly #queue: ReplyQueue;
  #session: Conversation | undefined;
  #isRunning = false;
  /** Others have their turn. */
  #isYielding = false;
  /** No more commands are taken. */
  #isEnding = false;
  /** The socket was told that nothing more comes. */
  #hasEnded = false;
  /** The peer says nothing more. */
  #hasPeerEnded = false;
  #isClosed = false;
  #isSettling = false;
  /** Pushes that came while a command ran. keeps (1) */
  #pushed: Bytes = "";
  /** What it has of the budget, for its requests and for its replies. */
  #countedBytes = 0;
  #countedReplyBytes = 0;
  /** There was no room for its replies in the budget. */
  #isShort = false;
  #cancelSlow: (() => void) | undefined;
  #cancelEnd: (() => void) | undefined;

  constructor(options: ConnectionOptions) {
    const { socket, limits } = options;
    this.#options = options;
    this.#socket = socket;
    this.#limits = limits;
    this.address = addressOf(socket.remoteAddress, socket.remotePort);
    this.localAddress = addressOf(socket.localAddress, socket.localPort);
    this.#parser = new RequestParser({
      requestBytesMax: limits.requestBytesMax,
      isTrusted: () => this.#session?.isAuthenticated === true,
    });
    this.#queue = new ReplyQueue({
      journal: options.journal,
      write: (text) => this.#write(text),
      released: () => this.#proceed(),
    });
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("drain", () => this.#drained());
    socket.on("end", () => this.#peerEnded());
    socket.on("timeout", () => this.#stalled());
    // It is closed then, and that is all there is to say.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
  }

  get queuedBytes(): number {
    return this.#queue.bytes + this.#socket.writableLength;
  }

  get unreadBytes(): number {
    return this.#parser.unreadBytes;
  }

  reply(reply: Reply): void {
    this.#queue.addReply(this.#print(reply));
    if (!this.#isRunning) this.#settleSoon();
  }

  push(push: Push): void {
    if (this.#isEnding || this.#session === undefined) return;
    const text = pushText(push, this.#session.respVersion);
    if (this.#isRunning) {
      this.#pushed += text;
      return;
    }
    this.#queue.addPush(text);
    this.#checkListener();
    this.#settleSoon();
  }

  resume(): void {
    this.#settleSoon();
  }

  close(when: "when written" | "at once"): void {
    this.#isEnding = true;
    if (when === "at once") {
      this.#queue.drop();
      this.#socket.destroy();
    } else if (!this.#isRunning) this.#settleSoon();
  }

  /** Its token is good no more: nothing that waits is sent. */
  revoke(): void {
    this.#options.events.cutOff("token revoked");
    this.#kill();
  }

  /** The server stops: what was read is answered, and nothing more is taken. */
  drain(): void {
    this.#peerEnded();
  }

  /** Ends it whatever it does. */
  destroy(): void {
    this.#kill();
  }

  #read(chunk: Buffer): void {
    this.#options.events.received(chunk.length);
    if (this.#isEnding) return;
    this.#parser.feed(chunk);
    this.#proceed();
  }

  /** Does what can be done now: runs commands, lets replies go, ends, reads on. */
  #proceed(): void {
    if (this.#isRunning || this.#isClosed) return;
    this.#run();
    this.#queue.flush();
    if (this.#isEnding || (this.#hasPeerEnded && !this.#mustHold)) this.#end();
    else this.#readOrPause();
  }

  #settleSoon(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    // Behind the unit of work that is running: then the journal ends behind what the reply saw.
    queueMicrotask(() => {
      this.#isSettling = false;
      this.#proceed();
    });
  }

  /** True while no command may run. keeps (2) */
  get #mustHold(): boolean {
    if (this.#isYielding || this.#isShort || this.#session?.isWaiting === true) return true;
    return this.queuedBytes > this.#limits.queuedBytesMax;
  }

  #run(): void {
    if (!this.#parser.hasUnread || this.#isEnding || this.#mustHold) return;
    this.#session ??= this.#options.converse(this);
    this.#isRunning = true;
    try {
      this.#runCommands();
    } catch (fault) {
      this.#fail(fault);
    } finally {
      this.#isRunning = false;
    }
  }

  #runCommands(): void {
    const { clock, limits } = this.#options;
    const session = this.#session;
    const queue = this.#queue;
    let count = 0;
    let startMs = 0;
    while (!this.#isEnding) {
      const words = this.#parser.next();
      if (words === undefined) {
        this.#checkRequest();
        return;
      }
      if (isFromBrowser(words)) {
        this.#cut("malformed request");
        return;
      }
      if (session === undefined) queue.addReply(LOADING);
      else session.execute(words);
      if (this.#pushed !== "") this.#addPushed();
      if (session?.isWaiting === true) return;
      count += 1;
      if (queue.unflushedBytes >= FLUSH_BYTES) {
        queue.flush();
        if (this.#isShort || this.queuedBytes > limits.queuedBytesMax) return;
      }
      if (count % COMMANDS_PER_LOOK !== 0) continue;
      const nowMs = clock.monotonicMs();
      if (count === COMMANDS_PER_LOOK) startMs = nowMs;
      if (count >= COMMANDS_PER_TURN_MAX || nowMs - startMs >= TURN_MS_MAX) {
        this.#yield();
        return;
      }
    }
  }

  #addPushed(): void {
    this.#queue.addPush(this.#pushed);
    this.#pushed = "";
    this.#checkListener();
  }

  #yield(): void {
    this.#isYielding = true;
    void nextTurn().then(() => {
      this.#isYielding = false;
      this.#proceed();
    });
  }

  /** The next request is wrong, or not all there. */
  #checkRequest(): void {
    const { failure } = this.#parser;
    if (failure !== undefined) {
      this.#options.events.cutOff("malformed request");
      this.#queue.addReply(respError(new CommandError(failure)));
      this.#isEnding = true;
      return;
    }
    const { unreadBytes } = this.#parser;
    const countedBytes = unreadBytes >= COUNTED_BYTES_MIN ? unreadBytes : 0;
    const { budget } = this.#options;
    if (countedBytes > this.#countedBytes) {
      if (!budget.take(countedBytes - this.#countedBytes)) {
        this.#cut("no memory");
        return;
      }
    } else budget.release(this.#countedBytes - countedBytes);
    this.#countedBytes = countedBytes;
  }

  #print(reply: Reply): Bytes {
    const { replyBytesMax } = this.#limits;
    try {
      return this.#session?.respVersion === 3 ? resp3Result(reply, replyBytesMax) : resp2Result(reply, replyBytesMax);
    } catch (error) {
      if (error instanceof CommandError) return respError(error);
      throw error;
    }
  }

  #write(text: Bytes): void {
    this.#options.events.sent(text.length);
    this.#socket.write(text, "latin1");
    const { writableLength } = this.#socket;
    if (writableLength >= COUNTED_BYTES_MIN) this.#countReplies(writableLength);
  }

  #countReplies(bytes: number): void {
    const { budget } = this.#options;
    if (this.#countedReplyBytes === 0) this.#socket.setTimeout(this.#limits.stalledMs);
    this.#isShort = !budget.take(bytes - this.#countedReplyBytes);
    if (!this.#isShort) this.#countedReplyBytes = bytes;
  }

  #drained(): void {
    this.#socket.setTimeout(0);
    this.#options.budget.release(this.#countedReplyBytes);
    this.#countedReplyBytes = 0;
    this.#isShort = false;
    this.#cancelSlow?.();
    this.#cancelSlow = undefined;
    this.#proceed();
  }

  /** Reads on, or not while it would only be kept. keeps (2) */
  #readOrPause(): void {
    const isFull = this.#parser.hasUnread && this.#parser.unreadBytes >= UNREAD_BYTES_MAX && this.#mustHold;
    if (isFull !== this.#socket.isPaused()) {
      if (isFull) this.#socket.pause();
      else this.#socket.resume();
    }
  }

  /** keeps (3) */
  #checkListener(): void {
    if (this.#session?.isListening !== true) return;
    const { listeningBytesMax, slowBytesMax, slowMs } = this.#limits;
    const { queuedBytes } = this;
    if (queuedBytes <= slowBytesMax) {
      this.#cancelSlow?.();
      this.#cancelSlow = undefined;
    } else if (queuedBytes > listeningBytesMax) this.#cut("too slow");
    else
      this.#cancelSlow ??= this.#options.clock.after(slowMs, () => {
        this.#cancelSlow = undefined;
        if (this.queuedBytes > slowBytesMax) this.#cut("too slow");
      });
  }

  /** The peer has taken nothing for long. That is its own business as long as nobody else needs the room. */
  #stalled(): void {
    if (this.#socket.writableLength === 0) return;
    const { budget } = this.#options;
    const hasRoom = !this.#isShort && budget.take(COUNTED_BYTES_MIN);
    if (hasRoom) budget.release(COUNTED_BYTES_MIN);
    if (!hasRoom || this.queuedBytes > this.#limits.queuedBytesMax) this.#cut("too slow");
    else this.#socket.setTimeout(this.#limits.stalledMs);
  }

  /** What has come is still answered, but nobody waits for a peer that has gone. */
  #peerEnded(): void {
    this.#hasPeerEnded = true;
    if (this.#session?.isWaiting === true) this.#kill();
    else this.#proceed();
  }

  /** Ends the connection as soon as everything is written. */
  #end(): void {
    this.#isEnding = true;
    if (this.#hasEnded || this.#queue.bytes > 0) return;
    this.#hasEnded = true;
    const socket = this.#socket;
    if (this.#hasPeerEnded) {
      socket.destroySoon();
      return;
    }
    socket.end();
    // Bytes that are not read would make the system reset the connection, and the last reply be lost.
    socket.resume();
    socket.once("finish", () => {
      this.#cancelEnd = this.#options.clock.after(ENDED_MS, () => socket.destroy());
    });
    socket.once("end", () => socket.destroySoon());
  }

  #cut(reason: CutReason): void {
    this.#options.events.cutOff(reason);
    this.#kill();
  }

  #kill(): void {
    this.#session?.close();
    this.close("at once");
  }

  /** Our own mistake. A broken assertion stops the process. */
  #fail(fault: unknown): void {
    this.#options.log.error("a command over RESP failed", faultFields(fault));
    this.#cut("failed");
    if (!(fault instanceof AssertionFailure)) return;
    queueMicrotask(() => {
      throw fault;
    });
  }

  /** keeps (4) */
  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isEnding = true;
    this.#queue.drop();
    this.#cancelSlow?.();
    this.#cancelEnd?.();
    this.#options.budget.release(this.#countedBytes + this.#countedReplyBytes);
    this.#countedBytes = 0;
    this.#countedReplyBytes = 0;
    this.#session?.close();
    this.#options.events.closed(this);
  }
}

/**
 * The first words of a request over HTTP: somebody makes a browser talk to us (Redis: `securityWarningCommand`). Nothing
 * that follows may run.
 */
function isFromBrowser(words: readonly Bytes[]): boolean {
  const name = words[0] as Bytes;
  if (name.length !== 4 && name.length !== 5) return false;
  const first = name.charCodeAt(0) | 0x20;
  // Most names of this length begin otherwise.
  if (first !== 0x70 && first !== 0x68) return false;
  const lower = name.toLowerCase();
  return lower === "post" || lower === "host:";
}

/** As Redis prints it: an IPv6 address in brackets, an IPv4 one as such. */
function addressOf(address = "", port = 0): string {
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  return plain.includes(":") ? `[${plain}]:${port}` : `${plain}:${port}`;
}
