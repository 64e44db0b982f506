/**
 * One session over TCP: its user, its version of RESP, its queued commands,
 * watched keys and subscriptions. Commands come in one after the other, and all
 * replies go to the peer in that order.
 *
 * (1) While the session waits (for a key, or for the end of a pause) it gets no
 *     command.
 * (2) The journal decides when a reply may leave, and the peer asks it: when a
 *     reply is passed to the peer, the journal contains all state that it saw.
 * (3) `#isPlain` is true while a command needs only the user of the session.
 *     Every change that affects it computes it again.
 * (4) State in a database (watched keys, channels, the entry in its list of
 *     sessions) is removed before the session logs in to another one.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { User } from "../acl/user.ts";
import type { CommandFacts } from "../command-facts.ts";
import {
  CommandError,
  databaseMoves,
  monitorTouchesKeys,
  notInTransaction,
  notWhileListening,
  refusalOfExec,
} from "../errors.ts";
import { Subscriber } from "../observe/pushes.ts";
import type { Tracker, TrackingClient, TrackingOptions } from "../observe/tracking/tracker.ts";
import { errorReply, later, type Reply, simple } from "../reply/reply.ts";
import type { Caller } from "./caller.ts";
import type { SessionHost, SessionStore } from "./host.ts";
import { Listening } from "./listening.ts";
import type { LoggedIn, SessionLogin, SessionPeer } from "./peer.ts";
import { Transaction } from "./transaction.ts";
import type { UnitFrames } from "./unit-frames.ts";
import type { ReplyTaker } from "./waiters.ts";

export interface SessionOptions {
  readonly peer: SessionPeer;
  readonly login: SessionLogin;
  readonly store: SessionStore;
  readonly clock: Clock;
}

/** The reply mode of CLIENT REPLY: replies are sent, dropped, or one of them is dropped. */
type ReplyMode = "on" | "off" | "skip next" | "skip this";

const queuedReply = simple("QUEUED");

export class Session implements Caller, ReplyTaker, TrackingClient {
  readonly transport = "tcp";
  readonly id: number;
  readonly peer: SessionPeer;
  readonly login: SessionLogin;
  readonly #store: SessionStore;
  readonly startedAtMs: number;
  readonly transaction = new Transaction();
  readonly listening: Listening;
  /** What the client reports about itself: CLIENT SETNAME and SETINFO. */
  name: Bytes = "";
  libraryName: Bytes = "";
  libraryVersion: Bytes = "";
  /** Its last command: EXEC, not the queued commands. */
  lastCommand: CommandFacts | undefined;
  /** CLIENT CAPA redirect; has no effect, since a store that is asked is never a replica. */
  followsRedirects = false;
  /** CLIENT NO-EVICT; has no effect, since no client is evicted. */
  isExemptFromEviction = false;

  #loggedIn: LoggedIn | undefined;
  #tracker: Tracker | undefined;
  #invalidated: Subscriber | undefined;
  #respVersion: 2 | 3 = 2;
  #replyMode: ReplyMode = "on";
  #leavesKeysUntouched = false;
  #isPlain = false;
  /** Whether the last command ran in the current database, so that the next one may have its time. */
  #hasTime = false;
  #isExecuting = false;
  #isWaiting = false;
  #isEnding = false;
  #isClosed = false;
  /** The command that came during a pause: it is executed at the end of the pause. */
  #postponed: Bytes[] | undefined;
  #lastUsedMs: number;
  #commandCount = 0;

  constructor({ peer, login, store, clock }: SessionOptions) {
    this.id = store.takeSessionId();
    this.peer = peer;
    this.login = login;
    this.#store = store;

    this.startedAtMs = clock.nowMs();
    this.#lastUsedMs = this.startedAtMs;
    this.listening = new Listening(this);
    if (login.anonymous !== undefined) this.enter(login.anonymous);
  }

  /** Runs one command. Every reply, including errors, goes to the peer. Must not be called while the session waits. */
  execute(words: Bytes[]): void {
    const loggedIn = this.#loggedIn;
    if (!this.#isPlain || loggedIn === undefined) {
      this.#executeWithCare(words);
      return;
    }
    const { database } = loggedIn;
    this.#hasTime = true;
    this.#pass(database, database.execute(this, words));
  }

  /** As `execute`, right after another command of the same packet: it may have the time of that one. */
  executeNext(words: Bytes[]): void {
    const database = this.#loggedIn?.database;
    if (this.#isPlain && this.#hasTime && database !== undefined)
      this.#pass(database, database.executeNext(this, words));
    else this.execute(words);
  }

  /** Passes the reply of a command that needed only the user of the session: (3). */
  #pass(database: SessionHost, reply: Reply): void {
    this.#lastUsedMs = database.keyspace.nowMs;
    this.#commandCount += 1;
    if (reply === later) this.#isWaiting = isAnsweredLater(database, this);
    else if (this.#isPlain) this.peer.reply(reply);
    else this.#answer(reply);
  }

  /** The frames of its database. While they are held, its commands share them. */
  get frames(): UnitFrames | undefined {
    return this.#loggedIn?.database.frames;
  }

  /** The tenant that pays for its commands. */
  get turn(): Tenant | undefined {
    return this.#loggedIn?.database.turn;
  }

  /** Whether a command must wait before it runs: with `isHeavy`, for its turn. */
  mustWait(words: readonly Bytes[]): boolean {
    const database = this.#loggedIn?.database;
    if (database === undefined || !database.waits.areLikely) return false;
    const isQueued = this.transaction.isOpen && database.findCommand(words[0] ?? "")?.isUnqueued !== true;
    return !isQueued && database.waits.mustWait(words);
  }

  /** When the last unit of work of its database began, and when the clock was last read. */
  get beganAtMs(): number {
    return this.#loggedIn?.database.beganAtMs ?? 0;
  }

  get lookedAtMs(): number {
    return this.#loggedIn?.database.lookedAtMs ?? 0;
  }

  /** Counts bytes of its connection for its database. */
  received(bytes: number): void {
    this.#loggedIn?.database.activity.addInput(bytes);
  }

  sent(bytes: number): void {
    this.#loggedIn?.database.activity.addOutput(bytes);
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** True while its command waits for the end of a pause. */
  get isPaused(): boolean {
    return this.#postponed !== undefined;
  }

  get respVersion(): 2 | 3 {
    return this.#respVersion;
  }

  get isAuthenticated(): boolean {
    return this.#loggedIn !== undefined;
  }

  /** The account of its memory: that of the database, after login. */
  get tenant(): SessionHost | undefined {
    return this.#loggedIn?.database;
  }

  /** True while it gets pushes: then unread output has another limit. */
  get isListening(): boolean {
    return this.#isLimited || this.#invalidated !== undefined;
  }

  /** The peer has disconnected: removes all state of the session in the database. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isPlain = false;
    this.#leave();
  }

  /** The server ends the session: its token was revoked, or a client kills it. */
  kill(): void {
    if (this.#isClosed) return;
    this.close();
    this.peer.close("at once");
  }

  /** Ends a blocked command with an error, because the database moves to another node: it has done nothing. */
  unblock(): void {
    const database = this.#loggedIn?.database;
    if (!this.#isWaiting || database === undefined) return;
    if (this.#postponed === undefined) database.waiters.end(this, errorReply(databaseMoves));
    else {
      this.#postponed = undefined;
      this.take(errorReply(databaseMoves));
    }
  }

  // The rest is for the rows of commands and for the database.

  get session(): this {
    return this;
  }

  get address(): string {
    return this.peer.address;
  }

  get user(): User {
    return this.#entered.user;
  }

  get database(): SessionHost {
    return this.#entered.database;
  }

  /** The handler of the reply of a blocked command. A transaction does not block. */
  get waiting(): ReplyTaker | undefined {
    return this.#isExecuting ? undefined : this;
  }

  /** True within EXEC. */
  get isExecuting(): boolean {
    return this.#isExecuting;
  }

  get lastUsedMs(): number {
    return this.#lastUsedMs;
  }

  /** The commands that it has sent so far, without the running one and those in scripts. */
  get commandCount(): number {
    return this.#commandCount;
  }

  get leavesKeysUntouched(): boolean {
    return this.#leavesKeysUntouched;
  }

  /** Its tracking of keys, while that is on. */
  get tracker(): Tracker | undefined {
    return this.#tracker;
  }

  get isSubscribed(): boolean {
    return this.listening.count > 0;
  }

  /** Gets the pushes about tracked keys: its own, and those of connections that redirect them to it. */
  get invalidated(): Subscriber {
    this.#invalidated ??= new Subscriber(this.listening);
    return this.#invalidated;
  }

  mayKnow(key: Bytes): boolean {
    const { user } = this;
    return user.isUnrestricted || user.mayKnow(key);
  }

  /** True after QUIT or a kill by itself: the session ends when its last reply is written. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Sends one of several replies of a command. Pushes are sent in any reply mode, as in Redis. */
  say(reply: Reply): void {
    if (this.#replyMode === "on" || this.#replyMode === "skip next" || isPush(reply)) this.peer.reply(reply);
    // For EXEC.
    else if (Array.isArray(reply)) for (const part of reply) if (isPush(part)) this.peer.reply(part);
  }

  /** Takes the reply of the blocked command, and continues after the unit of work that made it. */
  take(reply: Reply): void {
    this.#soon(() => {
      // keeps (2): the frame of that unit is in the journal by now
      this.#isWaiting = false;
      this.#answer(reply);
      if (this.#replyMode === "skip this") {
        this.#replyMode = "on";
        this.modeChanged();
      }
      if (!this.#isClosed) this.peer.resume();
    });
  }

  /** Logs in a user. */
  enter(loggedIn: LoggedIn): void {
    if (this.#loggedIn?.database !== loggedIn.database) {
      this.#loggedIn?.database.frames.append();
      this.#leave(); // keeps (4)
      this.#hasTime = false;
      this.#loggedIn = loggedIn;
      loggedIn.database.sessions.enter(this);
      loggedIn.database.activity.connectionCount += 1;
    }
    this.#loggedIn = loggedIn;
    this.modeChanged();
  }

  setRespVersion(version: 2 | 3): void {
    this.#respVersion = version;
    this.modeChanged();
  }

  setReplyMode(mode: "on" | "off" | "skip next"): void {
    // CLIENT REPLY SKIP does not end OFF.
    if (mode !== "skip next" || this.#replyMode !== "off") this.#replyMode = mode;
    this.modeChanged();
  }

  setLeavesKeysUntouched(leaves: boolean): void {
    this.#leavesKeysUntouched = leaves;
    this.modeChanged();
  }

  /** CLIENT TRACKING ON. @throws {CommandError} if a prefix is refused. */
  track(options: TrackingOptions, prefixes: readonly Bytes[]): void {
    this.#tracker = this.database.tracking.start(this.#tracker, { client: this, options, prefixes });
    this.modeChanged();
  }

  /** CLIENT TRACKING OFF. */
  stopTracking(): void {
    if (this.#tracker === undefined) return;
    this.database.tracking.stop(this.#tracker);
    this.#tracker = undefined;
    this.modeChanged();
  }

  /** Runs the queued commands as part of the running unit of work; none of them blocks. */
  executeQueued(): readonly Reply[] {
    const { database } = this;
    const { queued } = this.transaction;
    this.transaction.end();
    this.#isExecuting = true;
    try {
      return database.runAllQueued(this, queued, (replies) => replies);
    } finally {
      this.#isExecuting = false;
    }
  }

  /** Ends the transaction of a refused EXEC, as in Redis. Returns the reply. */
  refuseToExecute(refusal: CommandError): CommandError {
    this.transaction.end();
    this.modeChanged();
    return refusalOfExec(refusal);
  }

  /** Restores the state of a new connection, except what the client library has announced about itself. */
  reset(): void {
    const { anonymous } = this.login;
    this.transaction.end();
    this.listening.end();
    if (this.isAuthenticated) this.stopTracking();
    this.name = "";
    this.isExemptFromEviction = false;
    this.#leavesKeysUntouched = false;
    // As in Redis, this also skips a reply that is to be skipped.
    if (this.#replyMode !== "skip this") this.#replyMode = "on";
    this.#respVersion = 2;
    if (anonymous === undefined) this.#leave();
    else this.enter(anonymous);
    this.modeChanged();
  }

  /** Ends the session when its replies are written. */
  end(): void {
    this.#isEnding = true;
    this.#isPlain = false;
  }

  /** The rights of the user changed, or it was deleted. */
  userChanged({ isOwnChange }: { readonly isOwnChange: boolean }): void {
    if (this.user.isDeleted !== true && !this.listening.isRefused) return;
    if (isOwnChange) {
      // A session that did this to itself still gets the reply.
      this.end();
      this.#soon(() => this.kill());
    } else this.kill();
  }

  /** A pause began or ended. Called within a unit of work or outside. */
  pauseChanged(): void {
    this.modeChanged();
    if (this.#postponed === undefined || this.database.sessions.pauseKind !== undefined) return;
    const words = this.#postponed;
    this.#postponed = undefined;
    const goOn = (): void => {
      if (this.#isClosed) return;
      this.#isWaiting = false;
      this.execute(words);
      if (!this.#isWaiting && !this.#isClosed) this.peer.resume();
    };
    // Many sessions may have waited for the end of the pause.
    this.#soon(() => this.database.waits.runInTurn(words, goOn));
  }

  /** Computes `#isPlain` after a change: keeps (3). */
  modeChanged(): void {
    const database = this.#loggedIn?.database;
    this.#isPlain =
      database !== undefined &&
      database.sessions.pauseKind === undefined &&
      !this.transaction.isOpen &&
      !this.#isLimited &&
      this.#tracker === undefined &&
      this.#replyMode === "on" &&
      !this.#leavesKeysUntouched &&
      !this.#isEnding &&
      !this.#isClosed;
  }

  /** True while it may not run every command: it is subscribed, or in MONITOR. */
  get #isLimited(): boolean {
    return this.listening.count > 0 || this.listening.isMonitor;
  }

  get #entered(): LoggedIn {
    assert(this.#loggedIn !== undefined, "a session is logged in when it runs commands of a database");
    return this.#loggedIn;
  }

  #leave(): void {
    const database = this.#loggedIn?.database;
    if (database === undefined) return;
    this.transaction.end();
    this.listening.end();
    if (this.#tracker !== undefined) database.tracking.stop(this.#tracker);
    this.#tracker = undefined;
    if (this.#invalidated !== undefined) this.#invalidated.isOpen = false;
    this.#invalidated = undefined;
    database.waiters.leave(this);
    database.sliced.leave(this);
    database.sessions.leave(this);
    this.#postponed = undefined;
    if (!this.#isClosed) this.#loggedIn = undefined;
  }

  #executeWithCare(words: Bytes[]): void {
    if (this.#isClosed || this.#isEnding) return;
    this.#hasTime = false;
    assert(!this.#isWaiting, "a waiting session gets no command"); // keeps (1)
    if (this.#replyMode === "skip next") this.#replyMode = "skip this";
    const database = this.#loggedIn?.database;
    if (database === undefined) this.#answer(this.#store.answerBeforeLogin(this, words));
    else if (this.#mustPause(database, words)) {
      this.#postponed = words;
      this.#isWaiting = true;
      return;
    } else {
      const { keyspace } = database;
      keyspace.isLeftUntouched = this.#leavesKeysUntouched;
      if (this.#tracker !== undefined) database.tracking.begin(this.#tracker);
      const reply = this.#answerInMode(database, words);
      keyspace.isLeftUntouched = false;
      this.#lastUsedMs = keyspace.nowMs;
      if (this.#tracker?.isCachingGiven === true) this.#endCaching(database, words);
      if (reply === later && this.#loggedIn !== undefined) this.#isWaiting = isAnsweredLater(database, this);
      this.#answer(reply);
    }
    this.#commandCount += 1;
    if (this.#replyMode === "skip this" && !this.#isWaiting) this.#replyMode = "on";
    this.modeChanged();
  }

  /** CLIENT CACHING applies to one command, or one transaction, and CLIENT does not count as one. */
  #endCaching(database: SessionHost, words: readonly Bytes[]): void {
    if (this.#tracker === undefined || this.transaction.isOpen) return;
    if (database.findCommand(words[0] ?? "")?.keepsCaching !== true) this.#tracker.isCachingGiven = false;
  }

  /** Sends the reply, if any, and ends the session if it was the last. */
  #answer(reply: Reply): void {
    if (this.#isClosed) return;
    if (reply !== later) this.say(reply);
    if (!this.#isEnding) return;
    this.close();
    this.peer.close("when written");
  }

  #answerInMode(database: SessionHost, words: Bytes[]): Reply {
    const command = database.findCommand(words[0] ?? "");
    const isQueued = this.transaction.isOpen && command?.isUnqueued !== true;
    if (!isQueued && (command === undefined || this.#listeningRefusalOf(command) === undefined))
      return database.execute(this, words);
    const admitted = database.admit(this, words);
    if (admitted instanceof CommandError) return this.#refuse(admitted);
    const refusal = this.#listeningRefusalOf(admitted) ?? this.#queueRefusalOf(admitted);
    if (refusal === undefined) return this.#queue(admitted, words);
    return this.#refuse(admitted.runsQueue ? this.refuseToExecute(refusal) : refusal);
  }

  #refuse(refusal: CommandError): Reply {
    if (this.transaction.isOpen) this.transaction.isRefused = true;
    return errorReply(refusal);
  }

  #queue(command: CommandFacts, words: Bytes[]): Reply {
    try {
      this.transaction.queue({ command, words });
      return queuedReply;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return this.#refuse(error);
    }
  }

  #queueRefusalOf(command: CommandFacts): CommandError | undefined {
    return this.transaction.isOpen && !command.isForTransactions ? notInTransaction : undefined;
  }

  /** In RESP2, a subscribed session may send few commands. */
  #listeningRefusalOf(command: CommandFacts): CommandError | undefined {
    const { listening } = this;
    if (listening.isMonitor && command.touchesKeys) return monitorTouchesKeys;
    if (listening.count === 0 || this.#respVersion === 3 || command.isForListeners) return undefined;
    return notWhileListening(command.fullName);
  }

  #mustPause(database: SessionHost, words: readonly Bytes[]): boolean {
    const kind = database.sessions.pauseKind;
    if (kind === undefined || kind === "all") return kind === "all";
    const command = database.findCommand(words[0] ?? "");
    if (command === undefined) return false;
    if (this.transaction.isOpen && !command.isUnqueued) return false;
    return command.mayChange || (command.runsQueue && this.transaction.queued.some((one) => one.command.mayChange));
  }

  /** Runs after the running unit of work, and before anything else. */
  #soon(task: () => void): void {
    void Promise.resolve().then(() => {
      if (!this.#isClosed) task();
    });
  }
}

/** Whether the reply of the command of a session follows: it is blocked, or runs in slices. */
function isAnsweredLater({ waiters, sliced }: SessionHost, session: Session): boolean {
  return waiters.isWaiting(session) || sliced.isFor(session);
}

function isPush(reply: Reply): boolean {
  return typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "push";
}
