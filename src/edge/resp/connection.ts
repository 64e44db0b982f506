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
 *     while others have their turn (kernel/turns.ts), no command runs, and only
 *     so much is read that we learn when the peer goes away.
 * (3) Who listens is not asked whether there is room: it costs at most
 *     `listeningBytesMax`, and at most `slowBytesMax` for longer than `slowMs`
 *     (threats A-17). Who takes none of its replies for `stalledMs` is cut off
 *     too, when they are too many or memory is short.
 * (4) When the socket has closed, the session is closed, once.
 * (5) What has come and not run, and what was said and not taken by the system,
 *     counts in the budget, for the database of the session. While that has too
 *     much, no command of its connections runs; those of others do.
 */
import type { Socket } from "node:net";
import { AssertionFailure } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { type NextOptions, type Tenant, TURN_MS } from "../../kernel/turns.ts";
import { CommandError, type Push, type Reply, type SessionPeer } from "../../store/mod.ts";
import { type ByteBudget, NOBODY, type Owner } from "../limits/byte-budget.ts";
import { pushText } from "./push-text.ts";
import { type RespVersion, resp2Result, resp3Result, respError } from "./replies.ts";
import { type ReplyJournal, ReplyQueue } from "./reply-queue.ts";
import { RequestParser } from "./request-parser.ts";

/** What a connection needs of a session of the store. */
export interface RespSession {
  execute(words: Bytes[]): void;
  /** Who pays for its commands; undefined for who has not logged in. */
  readonly turn: Tenant | undefined;
  /** Whether a command has to wait for its turn because it is expected to take long. */
  mustWait(words: readonly Bytes[]): boolean;
  /** When the last command began, and when the clock was last looked at: behind it, unless it was quick. */
  readonly beganAtMs: number;
  readonly lookedAtMs: number;
  readonly isWaiting: boolean;
  readonly respVersion: RespVersion;
  readonly isAuthenticated: boolean;
  readonly isListening: boolean;
  /** Whose database it is, once somebody has logged in. */
  readonly tenant: Owner | undefined;
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
  /** Who pays as long as nobody has logged in. */
  readonly strangers: Tenant;
  /** Opens the session; undefined while the store is still opening. Asked when the first request comes. */
  readonly openSession: (connection: RespConnection) => RespSession | undefined;
  readonly events: ConnectionEvents;
}

export interface ConnectionEvents {
  received(bytes: number): void;
  sent(bytes: number): void;
  cutOff(reason: CutReason): void;
  closed(connection: RespConnection): void;
}

/** After so many commands, or so long (`TURN_MS`), a connection lets others in between. */
const COMMANDS_PER_TURN_MAX = 1_000;
/** So much is read of a peer whose commands cannot run now. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** Requests that have not all come need room in the budget from here on; smaller ones are only counted. */
const ASKED_BYTES_MIN = 64 * 1024;
/** Who listens may have so much waiting while its database has too much. */
const SHORT_LISTENER_BYTES_MAX = 1024 * 1024;
/** What a byte that is read or written costs its tenant besides the time between two looks at the clock. */
const BYTE_MS = 1e-6;
/** It waits before everything else of its tenant: it came before that. */
const HEAVY: NextOptions = { isHeavy: true };
const HEAVY_AND_FIRST: NextOptions = { isHeavy: true, isFirst: true };
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
  #session: RespSession | undefined;
  /** The next command, when it has to wait for its turn. */
  #next: Bytes[] | undefined;
  /** Read since the tenant last paid. */
  #unpaidBytes = 0;
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
  /** What it has of the budget, for its requests and for its replies, and under whose name. */
  #countedBytes = 0;
  #countedReplyBytes = 0;
  #owner: Owner = NOBODY;
  /** Its database has too much of the budget. */
  #isShort = false;
  #cancelRoom: (() => void) | undefined;
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
    this.#unpaidBytes += chunk.length;
    this.#parser.feed(chunk);
    this.#proceed();
  }

  /** Does what can be done now: runs commands, lets replies go, ends, reads on. */
  #proceed(isItsTurn = false): void {
    if (this.#isRunning || this.#isClosed) return;
    if (!this.#options.budget.isQuiet) this.#checkRoom();
    if (this.#mayRun(isItsTurn)) this.#runAndPay();
    else this.#queue.flush();
    if (this.queuedBytes !== this.#countedReplyBytes) this.#countReplies();
    if (this.#isEnding || (this.#hasPeerEnded && !this.#mustHold)) this.#end();
    else this.#readOrPause();
  }

  /** Whether there is a command that may be run now. If others come first, its turn comes by itself. */
  #mayRun(isItsTurn: boolean): boolean {
    if ((this.#next === undefined && !this.#parser.hasUnread) || this.#isEnding || this.#mustHold) return false;
    if (isItsTurn || this.#turn.mayRun) return true;
    this.#yield();
    return false;
  }

  #runAndPay(): void {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    this.#run();
    this.#queue.flush();
    const nowMs = clock.monotonicMs();
    this.#turn.charge(nowMs - startMs + this.#unpaidBytes * BYTE_MS, nowMs);
    this.#unpaidBytes = 0;
  }

  get #turn(): Tenant {
    return this.#session?.turn ?? this.#options.strangers;
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
    this.#session ??= this.#options.openSession(this);
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
    const { limits } = this.#options;
    const session = this.#session;
    const queue = this.#queue;
    let count = 0;
    let startMs = 0;
    while (!this.#isEnding) {
      const words = this.#next ?? this.#parser.next();
      this.#next = undefined;
      if (words === undefined) {
        this.#checkRequest();
        return;
      }
      if (isFromBrowser(words)) {
        this.#cut("malformed request");
        return;
      }
      if (session === undefined) queue.addReply(LOADING);
      else {
        if (session.mustWait(words)) {
          this.#next = words;
          this.#yield(count === 0 ? HEAVY_AND_FIRST : HEAVY);
          return;
        }
        session.execute(words);
        if (count === 0) startMs = session.beganAtMs;
      }
      if (this.#pushed !== "") this.#addPushed();
      if (session?.isWaiting === true) return;
      count += 1;
      if (queue.unflushedBytes >= FLUSH_BYTES) {
        queue.flush();
        this.#countReplies();
        if (this.#isShort || this.queuedBytes > limits.queuedBytesMax) return;
      }
      // Each command begins with a look at the clock, so quick ones need no other.
      const isOver = session !== undefined && session.lookedAtMs - startMs >= TURN_MS;
      if (!isOver && count < COMMANDS_PER_TURN_MAX) continue;
      this.#yield();
      return;
    }
  }

  #addPushed(): void {
    this.#queue.addPush(this.#pushed);
    this.#pushed = "";
    this.#checkListener();
  }

  /** Goes on when its turn comes. */
  #yield(options?: NextOptions): void {
    this.#isYielding = true;
    this.#turn.queue(() => {
      this.#isYielding = false;
      this.#proceed(true);
    }, options);
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
  }

  /** keeps (5) */
  #countUnread(unreadBytes: number): void {
    const { budget } = this.#options;
    const bytes = unreadBytes - this.#countedBytes;
    this.#claim();
    if (bytes <= 0) budget.release(-bytes, this.#owner);
    else if (unreadBytes < ASKED_BYTES_MIN) budget.add(bytes, this.#owner);
    else if (!budget.take(bytes, this.#owner)) {
      this.#cut("no memory");
      return;
    }
    this.#countedBytes = unreadBytes;
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
  }

  /** keeps (5) */
  #countReplies(): void {
    const { budget } = this.#options;
    const { queuedBytes } = this;
    this.#claim();
    const bytes = queuedBytes - this.#countedReplyBytes;
    if (this.#countedReplyBytes === 0 && this.#socket.writableLength > 0)
      this.#socket.setTimeout(this.#limits.stalledMs);
    this.#countedReplyBytes = queuedBytes;
    if (bytes > 0) budget.add(bytes, this.#owner);
    else budget.release(-bytes, this.#owner);
    this.#checkRoom();
  }

  /** Learns whether commands may run, and comes back when they may again. keeps (5) */
  #checkRoom(): void {
    const { budget } = this.#options;
    this.#claim();
    // Who has not logged in shares an owner with all such, and has little to say.
    const mayWait = this.#owner !== NOBODY || this.#countedReplyBytes >= ASKED_BYTES_MIN;
    this.#isShort = mayWait && !budget.hasRoom(this.#owner);
    if (!this.#isShort || this.#isClosed) return;
    this.#cancelRoom?.();
    this.#cancelRoom = budget.whenRoom(this.#owner, () => {
      this.#cancelRoom = undefined;
      this.#isShort = false;
      this.#settleSoon();
    });
  }

  /** What it holds belongs to its database as soon as that is known. */
  #claim(): void {
    const owner = this.#session?.tenant ?? NOBODY;
    if (owner === this.#owner) return;
    this.#options.budget.move(this.#countedBytes + this.#countedReplyBytes, this.#owner, owner);
    this.#owner = owner;
  }

  #drained(): void {
    this.#socket.setTimeout(0);
    this.#countReplies();
    this.#cancelSlow?.();
    this.#cancelSlow = undefined;
    this.#proceed();
  }

  /** Reads on, or not while it would only be kept. keeps (2) */
  #readOrPause(): void {
    const { unreadBytes } = this.#parser;
    if (unreadBytes !== this.#countedBytes) this.#countUnread(unreadBytes);
    if (this.#isClosed) return;
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
    if (queuedBytes > SHORT_LISTENER_BYTES_MAX && !this.#options.budget.hasRoom(this.#owner)) {
      this.#cut("no memory");
      return;
    }
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
    const { writableLength } = this.#socket;
    if (writableLength === 0) return;
    // Timers come before the poll: while the thread was busy it may have taken some.
    void nextTurn().then(() => {
      if (this.#isClosed || this.#socket.writableLength === 0) return;
      if (this.#socket.writableLength === writableLength) this.#judgeStalled();
      else this.#socket.setTimeout(this.#limits.stalledMs);
    });
  }

  #judgeStalled(): void {
    const hasRoom = this.#options.budget.hasRoom(this.#owner);
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
    this.#cancelRoom?.();
    this.#options.budget.release(this.#countedBytes + this.#countedReplyBytes, this.#owner);
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
