/**
 * One session over TCP: who is logged in, in which version of RESP, what
 * is queued, watched and listened to. Commands come in one after the other, and
 * all that is answered goes to the peer in that order.
 *
 * (1) While the session waits (for a key, or for the end of a pause) it is given
 *     no command.
 * (2) The journal decides when a reply may leave, and the peer asks it: when a
 *     reply is given to it, the journal ends behind everything that the reply saw.
 * (3) `#isPlain` is true as long as a command needs nothing of the session but
 *     its user; whatever could change that works it out anew.
 * (4) What belongs to a database (watched keys, channels, a name in its list of
 *     sessions) is given up before the session logs in to another one.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { User } from "../acl/user.ts";
import type { CommandFacts } from "../command-facts.ts";
import { CommandError, monitorTouchesKeys, notInTransaction, notWhileListening, refusalOfExec } from "../errors.ts";
import { errorReply, later, type Reply, simple } from "../reply/reply.ts";
import type { Caller } from "./caller.ts";
import type { SessionHost, SessionStore } from "./host.ts";
import { Listening } from "./listening.ts";
import type { LoggedIn, SessionLogin, SessionPeer } from "./peer.ts";
import { Transaction } from "./transaction.ts";
import type { ReplyTaker } from "./waiters.ts";

export interface SessionOptions {
  readonly peer: SessionPeer;
  readonly login: SessionLogin;
  readonly store: SessionStore;
  readonly clock: Clock;
}

/** What CLIENT REPLY has made of replies: they are sent, dropped, or one of them is dropped. */
type ReplyMode = "on" | "off" | "skip next" | "skip this";

const queuedReply = simple("QUEUED");

export class Session implements Caller, ReplyTaker {
  readonly transport = "tcp";
  readonly id: number;
  readonly peer: SessionPeer;
  readonly login: SessionLogin;
  readonly #store: SessionStore;
  readonly startedAtMs: number;
  readonly transaction = new Transaction();
  readonly listening: Listening;
  /** What the client says of itself: CLIENT SETNAME and SETINFO. */
  name: Bytes = "";
  libraryName: Bytes = "";
  libraryVersion: Bytes = "";
  /** What it ran last, EXEC and not what was queued. */
  lastCommand: CommandFacts | undefined;
  /** CLIENT NO-EVICT; changes nothing, since nobody is dropped for memory. */
  isExemptFromEviction = false;

  #loggedIn: LoggedIn | undefined;
  #respVersion: 2 | 3 = 2;
  #replyMode: ReplyMode = "on";
  #leavesKeysUntouched = false;
  #isPlain = false;
  #isExecuting = false;
  #isWaiting = false;
  #isEnding = false;
  #isClosed = false;
  /** What came while a pause held: it is executed at its end. */
  #postponed: Bytes[] | undefined;
  #lastUsedMs: number;

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

  /** Runs one command. Every reply, an error too, goes to the peer. Must not be called while the session waits. */
  execute(words: Bytes[]): void {
    const loggedIn = this.#loggedIn;
    if (!this.#isPlain || loggedIn === undefined) {
      this.#executeWithCare(words);
      return;
    }
    const { database } = loggedIn;
    const reply = database.execute(this, words);
    this.#lastUsedMs = database.keyspace.nowMs;
    if (reply === later) this.#isWaiting = database.waiters.isWaiting(this);
    else if (this.#isPlain) this.peer.reply(reply);
    else this.#answer(reply);
  }

  /** Who pays for its commands. */
  get turn(): Tenant | undefined {
    return this.#loggedIn?.database.turn;
  }

  /** Whether a command has to wait because it is expected to take long: with `isHeavy`, for its turn. */
  mustWait(words: readonly Bytes[]): boolean {
    const database = this.#loggedIn?.database;
    if (database === undefined || !database.turn.hasHeavy) return false;
    const isQueued = this.transaction.isOpen && database.findCommand(words[0] ?? "")?.isUnqueued !== true;
    return !isQueued && database.mustWait(words);
  }

  /** When the last unit of work of its database began, and when the clock was last looked at. */
  get beganAtMs(): number {
    return this.#loggedIn?.database.beganAtMs ?? 0;
  }

  get lookedAtMs(): number {
    return this.#loggedIn?.database.lookedAtMs ?? 0;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  get respVersion(): 2 | 3 {
    return this.#respVersion;
  }

  get isAuthenticated(): boolean {
    return this.#loggedIn !== undefined;
  }

  /** Whose memory it uses: the database, once somebody has logged in. */
  get tenant(): SessionHost | undefined {
    return this.#loggedIn?.database;
  }

  /** True while it gets pushes: then what the peer has not read yet is bounded otherwise. */
  get isListening(): boolean {
    return this.listening.count > 0 || this.listening.isMonitor;
  }

  /** The far end has gone: nothing of the session is left in the database. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isPlain = false;
    this.#leave();
  }

  /** We end it: its token was revoked, or somebody kills it. */
  kill(): void {
    if (this.#isClosed) return;
    this.close();
    this.peer.close("at once");
  }

  // What follows is for the rows of commands and for the database.

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

  /** Where a command that waits leaves its reply. A transaction does not wait. */
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

  get leavesKeysUntouched(): boolean {
    return this.#leavesKeysUntouched;
  }

  /** True once it has said QUIT or was killed by itself: it ends when its last reply is written. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** A reply, within a command that has several. What is told besides replies is told all the same, as in Redis. */
  say(reply: Reply): void {
    if (this.#replyMode === "on" || this.#replyMode === "skip next" || isPush(reply)) this.peer.reply(reply);
    // Of EXEC.
    else if (Array.isArray(reply)) for (const part of reply) if (isPush(part)) this.peer.reply(part);
  }

  /** Takes the reply of the command that waited, and goes on behind the unit of work that made it. */
  take(reply: Reply): void {
    this.#soon(() => {
      // keeps (2): the frame of that unit is in the journal by now
      this.#isWaiting = false;
      this.#answer(reply);
      if (!this.#isClosed) this.peer.resume();
    });
  }

  /** Somebody has logged in. */
  enter(loggedIn: LoggedIn): void {
    if (this.#loggedIn?.database !== loggedIn.database) {
      this.#leave(); // keeps (4)
      this.#loggedIn = loggedIn;
      loggedIn.database.sessions.enter(this);
    }
    this.#loggedIn = loggedIn;
    this.modeChanged();
  }

  setRespVersion(version: 2 | 3): void {
    this.#respVersion = version;
    this.modeChanged();
  }

  setReplyMode(mode: "on" | "off" | "skip next"): void {
    // Who has switched them off does not switch them on by skipping one.
    if (mode !== "skip next" || this.#replyMode !== "off") this.#replyMode = mode;
    this.modeChanged();
  }

  setLeavesKeysUntouched(leaves: boolean): void {
    this.#leavesKeysUntouched = leaves;
    this.modeChanged();
  }

  /** Runs what is queued as part of the running unit of work; nothing in it waits. */
  executeQueued(): readonly Reply[] {
    const { database } = this;
    const { queued } = this.transaction;
    this.transaction.end();
    this.#isExecuting = true;
    try {
      return database.runAllQueued(this, queued);
    } finally {
      this.#isExecuting = false;
    }
  }

  /** EXEC is refused before it could begin: the transaction is over, as in Redis. Returns what is answered. */
  refuseToExecute(refusal: CommandError): CommandError {
    this.transaction.end();
    this.modeChanged();
    return refusalOfExec(refusal);
  }

  /** Makes the session what it was when the connection was opened, but for the library it names. */
  reset(): void {
    const { anonymous } = this.login;
    this.transaction.end();
    this.listening.end();
    this.name = "";
    this.isExemptFromEviction = false;
    this.#leavesKeysUntouched = false;
    // As in Redis, a reply that is to be skipped is skipped here too.
    if (this.#replyMode !== "skip this") this.#replyMode = "on";
    this.#respVersion = 2;
    if (anonymous === undefined) this.#leave();
    else this.enter(anonymous);
    this.modeChanged();
  }

  /** Ends it when what has been said is written. */
  end(): void {
    this.#isEnding = true;
    this.#isPlain = false;
  }

  /** The rights of the user are others, or it is gone. */
  userChanged({ isAsking }: { readonly isAsking: boolean }): void {
    if (this.user.isDeleted !== true && !this.listening.isRefused) return;
    if (isAsking) {
      // Who has done that to itself still gets the answer.
      this.end();
      this.#soon(() => this.kill());
    } else this.kill();
  }

  /** A pause has begun or ended. Called within a unit of work or outside. */
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
    // Many may have waited for the end of the pause.
    this.#soon(() => this.database.inItsTurn(words, goOn));
  }

  /** Something has changed that decides about `#isPlain`: keeps (3). */
  modeChanged(): void {
    const database = this.#loggedIn?.database;
    this.#isPlain =
      database !== undefined &&
      database.sessions.pauseKind === undefined &&
      !this.transaction.isOpen &&
      !this.isListening &&
      this.#replyMode === "on" &&
      !this.#leavesKeysUntouched &&
      !this.#isEnding &&
      !this.#isClosed;
  }

  get #entered(): LoggedIn {
    assert(this.#loggedIn !== undefined, "only who is logged in runs commands of a database");
    return this.#loggedIn;
  }

  #leave(): void {
    const database = this.#loggedIn?.database;
    if (database === undefined) return;
    this.transaction.end();
    this.listening.end();
    database.waiters.leave(this);
    database.sessions.leave(this);
    this.#postponed = undefined;
    if (!this.#isClosed) this.#loggedIn = undefined;
  }

  #executeWithCare(words: Bytes[]): void {
    if (this.#isClosed || this.#isEnding) return;
    assert(!this.#isWaiting, "a session that waits is given no command"); // keeps (1)
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
      const reply = this.#answerInMode(database, words);
      keyspace.isLeftUntouched = false;
      this.#lastUsedMs = keyspace.nowMs;
      if (reply === later && this.#loggedIn !== undefined) this.#isWaiting = database.waiters.isWaiting(this);
      this.#answer(reply);
    }
    if (this.#replyMode === "skip this") this.#replyMode = "on";
    this.modeChanged();
  }

  /** Sends the reply, if there is one, and ends the session if that was its last. */
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

  /** What the session listens to may leave little that it may say. */
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

  /** Behind the running unit of work, and before anything else happens. */
  #soon(task: () => void): void {
    void Promise.resolve().then(() => {
      if (!this.#isClosed) task();
    });
  }
}

function isPush(reply: Reply): boolean {
  return typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "push";
}
