/**
 * One connection of the RESP port: reads requests, passes them to its session one
 * by one, and writes the replies.
 *
 *     open -> ending (all replies are written) -> closed
 *
 * (1) Commands run in the order in which they came, and their replies leave in
 *     that order when the journal is safe (reply-queue.ts). Pushes to a subscriber
 *     follow the reply of the running command.
 * (2) While a command waits, while the peer has too many unread replies, and while
 *     other tenants have their turn (kernel/turns.ts), no command runs, and only
 *     enough is read to notice that the peer disconnects.
 * (3) Pushes do not need room in the budget: a subscriber costs at most
 *     `listeningBytesMax`, and at most `slowBytesMax` for longer than `slowMs`
 *     (threats A-17). A peer that takes none of its replies for `stalledMs` is
 *     disconnected if they are too many or memory is short.
 * (4) When the socket has closed, the session is closed, once.
 * (5) Unread requests and unsent replies count in the budget, for the database of
 *     the session. While that holds too many bytes, no command of its connections
 *     runs. Other databases are not affected.
 * (6) A connection whose database another node serves is passed on to that node,
 *     with the command that says so and all bytes after it, when the replies before
 *     it are written. Until then no command runs. It is never passed on twice.
 *
 *     open -> waiting for the other node -> spliced -> closed
 */
import { AssertionFailure } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { type NextOptions, type Tenant, TURN_MS } from "../../kernel/turns.ts";
import { CommandError, type Push, type Reply, type SessionPeer } from "../../store/mod.ts";
import { findError } from "../../store/reply/mod.ts";
import type { RequestFailure } from "../errors.ts";
import type { ByteStream } from "../forward/byte-stream.ts";
import type { Caller } from "../forward/forwarded-head.ts";
import type { TunnelOutcome } from "../forward/front.ts";
import { type ByteBudget, NOBODY, type Owner } from "../limits/byte-budget.ts";
import { byteMs } from "../limits/byte-cost.ts";
import type { LoginRoute, RespLogin } from "./login.ts";
import { pushText } from "./push-text.ts";
import { type RespVersion, resp2Result, resp3Result, respError } from "./replies.ts";
import { type ReplyJournal, ReplyQueue } from "./reply-queue.ts";
import { printRequest, RequestParser } from "./request-parser.ts";
import { Splice } from "./splice.ts";

/** The part of a store session that a connection uses. */
export interface RespSession {
  execute(words: Bytes[]): void;
  /** As `execute`, right after another command: it may have the time of that one. */
  executeNext(words: Bytes[]): void;
  /** The tenant that is charged for its commands; undefined before the login. */
  readonly turn: Tenant | undefined;
  /** Whether a command must wait for its turn because it is expected to take long. */
  mustWait(words: readonly Bytes[]): boolean;
  /** The frames of its database, which commands of one packet share; undefined before the login. */
  readonly frames: { hold(): void; append(): void; release(): void } | undefined;
  /** When the last command began, and when the clock was last read: after the command, unless it was quick. */
  readonly beganAtMs: number;
  readonly lookedAtMs: number;
  /** Counts the traffic of the connection. */
  received(bytes: number): void;
  sent(bytes: number): void;
  readonly isWaiting: boolean;
  readonly respVersion: RespVersion;
  readonly isAuthenticated: boolean;
  readonly isListening: boolean;
  /** Owner of its bytes: its database, after the login. */
  readonly tenant: Owner | undefined;
  /** Ends a blocked command with an error. */
  unblock(): void;
  close(): void;
  kill(): void;
}

export interface ConnectionLimits {
  readonly requestBytesMax: number;
  readonly replyBytesMax: number;
  /** Bytes of replies that the peer has not read; above it, no command runs. */
  readonly queuedBytesMax: number;
  /** How long it may read none of them. */
  readonly stalledMs: number;
  /** The most bytes that may wait for a subscriber; the most that may wait for longer than `slowMs`. */
  readonly listeningBytesMax: number;
  readonly slowBytesMax: number;
  readonly slowMs: number;
}

const MB = 2 ** 20;

/** All limits that are not settings of the store. */
export const defaultConnectionLimits: Omit<ConnectionLimits, "requestBytesMax" | "replyBytesMax"> = {
  // Large, since clients may write a whole pipeline before they read: client and server would wait for each other.
  queuedBytesMax: 32 * MB,
  stalledMs: 60_000,
  listeningBytesMax: 32 * MB,
  slowBytesMax: 8 * MB,
  slowMs: 60_000,
};

/** Why the server ended a connection. */
export const cutReasons = ["too slow", "malformed request", "no memory", "token revoked", "failed"] as const;

export type CutReason = (typeof cutReasons)[number];

export interface ConnectionOptions {
  /** Nobody else reads it. */
  readonly socket: ByteStream;
  /** Its bytes cost more CPU time. */
  readonly isEncrypted: boolean;
  readonly journal: ReplyJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: ConnectionLimits;
  /** Shared by the listeners of a thread: for incomplete requests and unsent replies. */
  readonly budget: ByteBudget;
  /** The tenant of connections before their login. */
  readonly anonymous: Tenant;
  /** Opens the session at the first request; undefined while the store is opening. */
  readonly openSession: (connection: RespConnection) => RespSession | undefined;
  readonly events: ConnectionEvents;
  /** Of the session, if a login may lead to another node: (6). */
  readonly leaving?: Leaving | undefined;
  /** The client, if another node has passed its connection on; absent: the peer of the socket. */
  readonly caller?: Caller | undefined;
}

export interface Leaving {
  readonly login: Pick<RespLogin, "route" | "takeRoute" | "openRoute" | "decideHere" | "decideAnywhere" | "end">;
  /** Why there is no room for the connection to the other node: an error; undefined: there is. */
  refusalOf(stream: ByteStream): Bytes | undefined;
}

export interface ConnectionEvents {
  received(bytes: number): void;
  sent(bytes: number): void;
  cutOff(reason: CutReason): void;
  /** A command failed, or the request is malformed. Absent: nobody watches. */
  failed?: ((text: Bytes) => void) | undefined;
  closed(connection: RespConnection): void;
}

/** After this number of commands, or `TURN_MS`, a connection yields to others. */
const COMMANDS_PER_TURN_MAX = 1_000;
/** It reads the clock at least once in so many commands: a reading costs a fifth of the rest of a short one. */
const COMMANDS_PER_LOOK = 64;
/** With more bytes of replies since the last flush, each command reads the clock. */
const BYTES_PER_LOOK = 64 * 1024;
/** How much is read of a peer whose commands cannot run now. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** Incomplete requests of at least this size need room in the budget; smaller ones are only counted. */
const BUDGETED_BYTES_MIN = 64 * 1024;
/** The most bytes that may wait for a subscriber while its database holds too many. */
const OVER_BUDGET_LISTENER_BYTES_MAX = 1024 * 1024;
/** A heavy command that came first also waits first: before other commands of its tenant. */
const HEAVY: NextOptions = { isHeavy: true };
const HEAVY_AND_FIRST: NextOptions = { isHeavy: true, isFirst: true };
/** Replies of one turn are flushed in parts of about this size. */
const FLUSH_BYTES = 256 * 1024;
/** Time for a peer to end a connection that the server has ended. */
const ENDED_MS = 2_000;

const LOADING = "-LOADING larder is loading its data\r\n";

export class RespConnection implements SessionPeer {
  readonly address: string;
  readonly localAddress: string;
  readonly #options: ConnectionOptions;
  readonly #socket: ByteStream;
  readonly #limits: ConnectionLimits;
  readonly #parser: RequestParser;
  readonly #queue: ReplyQueue;
  /** Listens to the socket no longer, except for its end. */
  readonly #letGo: () => void;
  #receivedBytes = 0;
  #sentBytes = 0;
  #session: RespSession | undefined;
  /** The next command, if it waits for its turn. */
  #next: Bytes[] | undefined;
  /** Bytes that were read since the tenant was last charged. */
  #unpaidBytes = 0;
  #isRunning = false;
  /** Other tenants have their turn. */
  #isYielding = false;
  /** No more commands run. */
  #isEnding = false;
  /** `end` of the socket was called. */
  #hasEnded = false;
  /** The peer has ended its side. */
  #hasPeerEnded = false;
  /** Another node will serve the database: nothing more is read. */
  #isHandedOver = false;
  #isClosed = false;
  #isSettling = false;
  /** Pushes that came while a command ran. keeps (1) */
  #pushed: Bytes = "";
  /** Its bytes in the budget, for requests and for replies, and their owner. */
  #countedBytes = 0;
  #countedReplyBytes = 0;
  #owner: Owner = NOBODY;
  /** Its database holds too many bytes of the budget. */
  #isOverBudget = false;
  /** Set while it waits for the other node: (6). */
  #abandoned: AbortController | undefined;
  /** The connection to the other node, and the command for it, until the replies before it are written. */
  #reached: { readonly stream: ByteStream; readonly words: readonly Bytes[] } | undefined;
  #splice: Splice | undefined;
  #cancelRoom: (() => void) | undefined;
  #cancelSlow: (() => void) | undefined;
  #cancelEnd: (() => void) | undefined;

  constructor(options: ConnectionOptions) {
    const { socket, limits, caller } = options;
    this.#options = options;
    this.#socket = socket;
    this.#limits = limits;
    const { address = socket.remoteAddress, port = socket.remotePort } = caller ?? {};
    this.address = addressOf(address, port);
    this.localAddress = addressOf(socket.localAddress, socket.localPort);
    this.#parser = new RequestParser({
      requestBytesMax: limits.requestBytesMax,
      // A client that needs no login needs none for the way to another node either.
      isTrusted: () => this.#session?.isAuthenticated === true || options.leaving?.login.openRoute !== undefined,
    });
    this.#queue = new ReplyQueue({
      journal: options.journal,
      write: (text) => this.#write(text),
      released: () => this.#proceed(),
    });
    const read = (chunk: Buffer): void => this.#read(chunk);
    const drained = (): void => this.#drained();
    const ended = (): void => this.#peerEnded();
    const stalled = (): void => this.#stalled();
    socket.on("data", read).on("drain", drained).on("end", ended).on("timeout", stalled);
    this.#letGo = () => void socket.off("data", read).off("drain", drained).off("end", ended).off("timeout", stalled);
    // `close` follows.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
  }

  get queuedBytes(): number {
    return this.#queue.bytes + this.#socket.writableLength;
  }

  get unreadBytes(): number {
    return this.#parser.unreadBytes;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get sentBytes(): number {
    return this.#sentBytes;
  }

  reply(reply: Reply): void {
    // The other node replies. keeps (6)
    if (this.#options.leaving?.login.route !== undefined) return;
    const { failed } = this.#options.events;
    const error = failed === undefined ? undefined : findError(reply);
    if (error !== undefined) failed?.(error.text);
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

  /** Ends it because its token is revoked, without sending waiting replies. */
  revoke(): void {
    this.#options.events.cutOff("token revoked");
    this.#kill();
  }

  /** Answers the requests that were read, and reads no more, because the server stops. */
  drain(): void {
    if (this.#splice === undefined) this.#peerEnded();
    else this.#splice.drain();
  }

  /** As `drain`, because another node will serve the database: a blocked command ends with an error, so it has done nothing. */
  handOver(): void {
    this.#isHandedOver = true;
    this.#session?.unblock();
    this.#settleSoon();
  }

  /** Ends it at once. */
  destroy(): void {
    this.#kill();
  }

  #read(chunk: Buffer): void {
    this.#options.events.received(chunk.length);
    this.#session?.received(chunk.length);
    this.#receivedBytes += chunk.length;
    if (this.#isEnding || this.#isHandedOver) return;
    this.#unpaidBytes += chunk.length;
    this.#parser.feed(chunk);
    this.#proceed();
  }

  /** Does everything that is possible now: runs commands, flushes replies, ends, continues to read. */
  #proceed(isItsTurn = false): void {
    if (this.#isRunning || this.#isClosed || this.#splice !== undefined) return;
    if (!this.#options.budget.isQuiet) this.#checkRoom();
    if (this.#mayRun(isItsTurn)) this.#runAndPay();
    else this.#queue.flush();
    if (this.queuedBytes !== this.#countedReplyBytes) this.#countReplies();
    if (this.#reached !== undefined && this.#queue.bytes === 0) this.#goOn(this.#reached);
    else if (this.#isEnding || ((this.#hasPeerEnded || this.#isHandedOver) && !this.#mustHold)) this.#end();
    else this.#readOrPause();
  }

  /** Whether a command may run now. If other tenants are first, queues for a turn. */
  #mayRun(isItsTurn: boolean): boolean {
    if ((this.#next === undefined && !this.#parser.hasUnread) || this.#isEnding || this.#mustHold) return false;
    if (isItsTurn || this.#turn.mayRun) return true;
    this.#yield();
    return false;
  }

  #runAndPay(): void {
    const { clock, isEncrypted } = this.#options;
    const startMs = clock.monotonicMs();
    this.#run();
    this.#queue.flush();
    const nowMs = clock.monotonicMs();
    this.#turn.charge(nowMs - startMs + this.#unpaidBytes * byteMs(isEncrypted), nowMs);
    this.#unpaidBytes = 0;
  }

  get #turn(): Tenant {
    return this.#session?.turn ?? this.#options.anonymous;
  }

  #settleSoon(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    // After the running unit of work: then the journal ends after everything that the reply saw.
    queueMicrotask(() => {
      this.#isSettling = false;
      this.#proceed();
    });
  }

  /** True while no command may run. keeps (2) */
  get #mustHold(): boolean {
    if (this.#isYielding || this.#isOverBudget || this.#session?.isWaiting === true) return true;
    if (this.#abandoned !== undefined || this.#reached !== undefined) return true;
    return this.queuedBytes > this.#limits.queuedBytesMax;
  }

  #run(): void {
    this.#session ??= this.#options.openSession(this);
    this.#isRunning = true;
    // That of this moment: a command may log in to another database.
    const frames = this.#session?.frames;
    frames?.hold();
    try {
      this.#runCommands();
    } catch (fault) {
      this.#fail(fault);
    } finally {
      frames?.release();
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
        if (this.#options.leaving !== undefined && !session.isAuthenticated) {
          const route = this.#runBeforeLogin(session, { words, leaving: this.#options.leaving });
          if (route !== undefined) {
            this.#leave(route, words);
            return;
          }
        } else if (count % COMMANDS_PER_LOOK > 0 && queue.unflushedBytes < BYTES_PER_LOOK) session.executeNext(words);
        else session.execute(words);
        if (count === 0) startMs = session.beganAtMs;
      }
      if (this.#pushed !== "") this.#addPushed();
      if (session?.isWaiting === true) return;
      count += 1;
      if (queue.unflushedBytes >= FLUSH_BYTES) {
        session?.frames?.append();
        queue.flush();
        this.#countReplies();
        if (this.#isOverBudget || this.queuedBytes > limits.queuedBytesMax) return;
      }
      // Some commands begin with a reading of the clock, so quick ones need no other.
      const isOver = session !== undefined && session.lookedAtMs - startMs >= TURN_MS;
      if (!isOver && count < COMMANDS_PER_TURN_MAX) continue;
      this.#yield();
      return;
    }
  }

  /** Runs a command, unless another node should: then returns the way to that. keeps (6) */
  #runBeforeLogin(
    session: RespSession,
    { words, leaving: { login } }: { readonly words: Bytes[]; readonly leaving: Leaving },
  ): LoginRoute | undefined {
    const { openRoute } = login;
    if (openRoute !== undefined) return openRoute;
    session.execute(words);
    login.decideAnywhere();
    return login.takeRoute();
  }

  #leave(route: LoginRoute, words: Bytes[]): void {
    const abandoned = new AbortController();
    this.#abandoned = abandoned;
    const { remoteAddress: address = "", remotePort: port = 0 } = this.#socket;
    void route.tunnel({ address, port }, abandoned.signal).then((outcome) => this.#arrive(outcome, words));
  }

  #arrive(outcome: TunnelOutcome, words: Bytes[]): void {
    const { leaving } = this.#options;
    this.#abandoned = undefined;
    if (outcome.kind === "here") {
      // A session that needs no login gets it when it begins.
      this.#session?.close();
      this.#session = undefined;
      leaving?.login.decideHere();
      this.#next = words;
    } else if (outcome.kind === "refused") this.#refuseToLeave(errorTextOf(outcome.failure));
    else {
      const { stream } = outcome;
      const refusal = leaving?.refusalOf(stream);
      if (refusal === undefined && !this.#isClosed) this.#reached = { stream, words };
      else stream.destroy();
      if (refusal !== undefined) this.#refuseToLeave(refusal);
    }
    this.#proceed();
  }

  #refuseToLeave(text: Bytes): void {
    this.#options.events.failed?.(text);
    this.#queue.addReply(respError(new CommandError(text)));
  }

  /** From here on the other node has the client. keeps (6) */
  #goOn({ stream, words }: { readonly stream: ByteStream; readonly words: readonly Bytes[] }): void {
    const { clock, events, leaving } = this.#options;
    const client = this.#socket;
    const first = Buffer.concat([printRequest(words), this.#parser.takeUnread()]);
    this.#reached = undefined;
    this.#session?.close();
    this.#session = undefined;
    leaving?.login.end();
    this.#countUnread(0);
    this.#countReplies();
    this.#letGo();
    client.setTimeout(0);
    this.#splice = new Splice({
      ...{ client, owner: stream, first, hasEnded: this.#hasPeerEnded, clock },
      received: events.received,
      sent: events.sent,
    });
  }

  #addPushed(): void {
    this.#queue.addPush(this.#pushed);
    this.#pushed = "";
    this.#checkListener();
  }

  /** Continues in its next turn. */
  #yield(options?: NextOptions): void {
    this.#isYielding = true;
    this.#turn.queue(() => {
      this.#isYielding = false;
      this.#proceed(true);
    }, options);
  }

  /** Ends the connection if the next request is malformed, and not if it is incomplete. */
  #checkRequest(): void {
    const { failure } = this.#parser;
    if (failure !== undefined) {
      this.#options.events.cutOff("malformed request");
      this.#options.events.failed?.(failure);
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
    else if (unreadBytes < BUDGETED_BYTES_MIN) budget.add(bytes, this.#owner);
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
    this.#session?.sent(text.length);
    this.#sentBytes += text.length;
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

  /** Checks whether the budget allows commands, and continues when it does again. keeps (5) */
  #checkRoom(): void {
    const { budget } = this.#options;
    this.#claim();
    // Connections before the login share one owner, and have small requests.
    const mayWait = this.#owner !== NOBODY || this.#countedReplyBytes >= BUDGETED_BYTES_MIN;
    this.#isOverBudget = mayWait && !budget.hasRoom(this.#owner);
    if (!this.#isOverBudget || this.#isClosed) return;
    this.#cancelRoom?.();
    this.#cancelRoom = budget.whenRoom(this.#owner, () => {
      this.#cancelRoom = undefined;
      this.#isOverBudget = false;
      this.#settleSoon();
    });
  }

  /** Moves its bytes to its database after the login. */
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

  /** Pauses reading while commands cannot run. keeps (2) */
  #readOrPause(): void {
    const { unreadBytes } = this.#parser;
    if (unreadBytes > 0) this.#parser.leavePacket();
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
    if (queuedBytes > OVER_BUDGET_LISTENER_BYTES_MAX && !this.#options.budget.hasRoom(this.#owner)) {
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

  /** The peer has read nothing for a while, which is allowed while others do not need the room. */
  #stalled(): void {
    const { writableLength } = this.#socket;
    if (writableLength === 0) return;
    // Timers run before the poll: while the thread was busy, the peer may have read.
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

  /** Answers received requests, but ends a blocked command of a peer that has ended its side. */
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
    // With unread bytes the system would reset the connection, and the last reply would be lost.
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

  /** Our bug. A failed assertion stops the process. */
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
    this.#abandoned?.abort();
    this.#reached?.stream.destroy();
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
 * The first words of an HTTP request: an attacker makes a browser connect to us (Redis: `securityWarningCommand`). No
 * later command may run.
 */
function isFromBrowser(words: readonly Bytes[]): boolean {
  const name = words[0] as Bytes;
  if (name.length !== 4 && name.length !== 5) return false;
  const first = name.charCodeAt(0) | 0x20;
  // Fast path: most commands of this length begin with other letters.
  if (first !== 0x70 && first !== 0x68) return false;
  const lower = name.toLowerCase();
  return lower === "post" || lower === "host:";
}

/** The text of an error reply. */
function errorTextOf({ text }: RequestFailure): Bytes {
  return text.startsWith("ERR ") ? text : `ERR ${text}`;
}

/** As Redis prints it: IPv6 addresses are in brackets, IPv4 addresses are not. */
function addressOf(address = "", port = 0): string {
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  return plain.includes(":") ? `[${plain}]:${port}` : `${plain}:${port}`;
}
