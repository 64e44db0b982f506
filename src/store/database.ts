/**
 * One database: its keys, its counters, and the functions that run whole
 * requests.
 *
 * (1) A unit of work (a command, a transaction, a sweep) has one `now` and its
 *     records are in one frame of the journal. The commands of a pipeline are units of
 *     their own, but some of them share a reading of the clock, and frames.
 * (2) A reply leaves when all state that it saw is as safe as the setting
 *     promises: it waits for the end of the journal when the reply was made.
 * (3) A refused command has changed nothing. Checks come before the first
 *     mutation, in the row and here.
 * (4) A script or transaction that a limit stops has changed nothing: what it
 *     wrote is undone, and its records and pushes are dropped. So has a command
 *     or a transaction whose reply cannot be sent.
 */
import { type Bytes, upperCase } from "../kernel/bytes.ts";
import type { MemoryAccount } from "../kernel/memory-guard.ts";
import type { Tenant } from "../kernel/turns.ts";
import type { AclContext } from "./acl/acl-log.ts";
import { isBuiltIn } from "./acl/built-in-users.ts";
import { Users } from "./acl/users.ts";
import { Call, type Command, countCommands } from "./command.ts";
import type { CommandFacts, CommandRequest, RequestWithValue } from "./command-facts.ts";
import type { CommandsOfScript, ScriptRules } from "./command-host.ts";
import { commandOfNumber, commands, findCommand, NO_COMMAND, numberOf } from "./commands/table.ts";
import {
  CommandError,
  databaseDropped,
  diskRefusal,
  emptyCommand,
  memoryUsedUp,
  noPermission,
  noPermissionAnyMore,
  outOfMemory,
  StoppedUnit,
  TransactionDiscarded,
  transactionScriptsTooLong,
} from "./errors.ts";
import { Keyspace } from "./keyspace.ts";
import { Eviction } from "./memory/eviction.ts";
import { noSweep, sweepExpired } from "./memory/expiry-sweep.ts";
import type { MemorySettings } from "./memory/memory-settings.ts";
import { reloadDatabase } from "./mutations/database-reload.ts";
import type { ChosenSettings } from "./mutations/database-state.ts";
import { expiry } from "./mutations/expiry.ts";
import { clearKeyspace } from "./mutations/generic.ts";
import { flushLibraries } from "./mutations/state/functions.ts";
import { Activity } from "./observe/activity.ts";
import { CommandCounts, ErrorCounts } from "./observe/command-counts.ts";
import { KeyObservers } from "./observe/key-observers.ts";
import { eventNotifier } from "./observe/keyspace-events.ts";
import { Monitors } from "./observe/monitor.ts";
import { PubSub } from "./observe/pubsub.ts";
import { Pushes, type Subscriber } from "./observe/pushes.ts";
import { noteSlow, noteUnblocked } from "./observe/run-times.ts";
import { SlowRuns } from "./observe/slow-runs.ts";
import { Tracking } from "./observe/tracking/tracking.ts";
import { BatchReplies } from "./reply/budget.ts";
import { asTheyAre, type ReplyPrinter } from "./reply/printer.ts";
import { errorReply, later, type Reply } from "./reply/reply.ts";
import { ScriptCommands } from "./scripting/script-commands.ts";
import { Scripts } from "./scripting/scripts.ts";
import { checkIndexKeys } from "./search/protection.ts";
import { SearchUpkeep } from "./search/upkeep/search-upkeep.ts";
import { AtomicUnits } from "./session/atomic-units.ts";
import type { Caller } from "./session/caller.ts";
import {
  type DenialPlace,
  logDenial,
  logFailedLogin,
  refuseArity,
  refuseName,
  refuseRight,
  refuseSubcommand,
} from "./session/denials.ts";
import type { SessionHost } from "./session/host.ts";
import { Pipeline, type PipelineUnits } from "./session/pipeline.ts";
import { Quota } from "./session/quota.ts";
import { RequestWaits } from "./session/request-waits.ts";
import type { Session } from "./session/session.ts";
import { Sessions } from "./session/sessions.ts";
import { SlicedRuns } from "./session/sliced-runs.ts";
import type { StoreContext } from "./session/store-context.ts";
import { type QueuedCommand, sizeRefusalOf } from "./session/transaction.ts";
import { UnitFrames } from "./session/unit-frames.ts";
import { Waiters } from "./session/waiters.ts";

/** The kind of unit of a transaction over HTTP, as of EXEC over TCP. */
const TRANSACTION = findCommand("EXEC")?.number ?? NO_COMMAND;

/**
 * All scripts of a transaction together run for this many times the limit of one, or one limit more: a transaction is
 * one unit of work. They are timed by the wall clock, so it is more than once.
 */
const SCRIPT_LIMITS_PER_TRANSACTION = 3;

const ordinaryCommands = commands.filter(({ isCompatOnly }) => !isCompatOnly);

export class Database implements SessionHost {
  readonly name: string;
  readonly number: number;
  /** Bytes of its frames that the journal has not written yet. */
  journalBytes = 0;
  /** The share of its data in the memory of the thread. */
  readonly memory: MemoryAccount;
  readonly keyspace: Keyspace;
  readonly context: StoreContext;
  /** Its turns in the thread. */
  readonly turn: Tenant;
  /** The table of commands, for commands that describe it. */
  readonly commands: readonly Command[];
  /** The error replies since the start. */
  readonly errorCounts = new ErrorCounts();
  /** Calls of commands and subcommands that do not exist, since the start. */
  unknownCount = 0;
  /** Channels and their subscribers. */
  readonly pubsub: PubSub;
  /** Clients in MONITOR. */
  readonly monitors: Monitors;
  /** Observers of changes of keys. */
  readonly observers: KeyObservers;
  /** The search indexes. */
  readonly search: SearchUpkeep;
  /** Commands that run in slices. */
  readonly sliced: SlicedRuns;
  readonly tracking: Tracking;
  /** Requests that must wait before they run. */
  readonly waits: RequestWaits;
  /** Clients whose command waits for a key. */
  readonly waiters: Waiters;
  /** The users of the database, in addition to its tokens. */
  readonly users: Users;
  /** Sessions that are logged in over TCP. */
  readonly sessions: Sessions;
  /** Traffic and work since the start. */
  readonly activity = new Activity();
  /** The published events of keys, in the form that `readEventFlags` returns; only `setEventFlags` changes it. */
  eventFlags = "";
  /** What CONFIG SET has chosen, if that is stored. */
  readonly chosen: ChosenSettings = new Map();
  /** Recent slow commands. */
  readonly slowRuns = new SlowRuns();
  readonly frames: UnitFrames;
  readonly #pushes: Pushes;
  readonly #atomic: AtomicUnits;
  readonly #units: PipelineUnits = {
    begin: () => this.#begin(),
    beginAtSameTime: () => this.#beginAtSameTime(),
    printOne: (caller, request, printer) => this.#printOne(caller, request, printer),
    printLater: (printer) => this.#printLater(printer),
  };
  /** Scripts, and the libraries of functions. */
  readonly scripts: Scripts;
  /** Why the running unit of work may write nothing, or undefined. */
  journalRefusal: string | undefined;
  /** The Call of the running command; while a script runs, that of the script's commands. */
  #call: Call;
  readonly #scriptCall: Call;
  readonly #quota: Quota;
  readonly #eviction: Eviction;
  /** By number of the command. Full length from the start: V8 would make a hash table of an array with large gaps. */
  readonly #counts: (CommandCounts | undefined)[] = new Array(countCommands()).fill(undefined);
  /** When the clock was last read, or about then: the running command began no earlier. */
  #lookedAtMs = 0;
  /** Time left for scripts of the running transaction. */
  #scriptMsLeft = Number.POSITIVE_INFINITY;
  #isDropped = false;

  constructor(options: { name: string; number: number; context: StoreContext }) {
    const { name, number, context } = options;
    this.name = name;
    this.number = number;
    this.context = context;
    this.turn = context.turns.tenant("store", name);
    this.commands = context.compat === undefined ? ordinaryCommands : commands;
    const { clock, frame, hashSeed, random, startedAtMs } = context;
    const memory = context.memoryOf(name);
    this.memory = context.openAccount(name);
    this.keyspace = new Keyspace({ number, frame, hashSeed, startedAtMs, random, expiry, memory });
    this.#call = new Call({ keyspace: this.keyspace, database: this, random: context.random });
    this.#scriptCall = new Call({ keyspace: this.keyspace, database: this, random: context.random });
    this.scripts = new Scripts({ databaseNumber: number, interpreter: context.interpreter });
    this.users = new Users({ databaseNumber: number, frame, commands: this.commands });
    this.#quota = new Quota(context.dailyRequestsMax);
    this.frames = new UnitFrames(this, context);
    this.#pushes = new Pushes(context.journal);
    this.#atomic = new AtomicUnits(this, this.#pushes);
    this.pubsub = new PubSub(this.#pushes);
    this.monitors = new Monitors(this.#pushes);
    this.observers = new KeyObservers(this.keyspace);
    this.search = new SearchUpkeep(this.keyspace, this.observers);
    const { keyspace, search } = this;
    this.#eviction = new Eviction({ keyspace, clock: clock.real, random, evicted: (key) => search.remove(key) });
    this.sliced = new SlicedRuns(this, { begin: () => this.#begin(), commit: () => this.#commit() });
    this.waits = new RequestWaits(this, { findCommand, numberOf });
    this.waiters = new Waiters({
      keyspace: this.keyspace,
      clock,
      runUnit: this.runUnit,
      ended: (run, reply, time) => noteUnblocked(this, { run, reply, time }),
    });
    this.sessions = new Sessions(clock);
    this.tracking = new Tracking({ host: this, pushes: this.#pushes, random, hashSeed });
  }

  /** Runs one command. The caller's mistakes are replies of kind "error"; only our own bugs are thrown. */
  command(caller: Caller, request: CommandRequest): Reply | Promise<Reply> {
    return this.printCommand(caller, request, asTheyAre);
  }

  /** As `command`; prints the reply in the turn that made it. */
  printCommand<Printed>(
    caller: Caller,
    request: CommandRequest,
    printer: ReplyPrinter<Printed>,
  ): Printed | Promise<Printed> {
    // A closure only if it must wait: it costs a hundredth of a short command.
    if (!this.waits.areLikely || !this.waits.mustWait(request)) return this.#printUnit(caller, request, printer);
    return this.waits.next().then(() => this.printCommand(caller, request, printer));
  }

  /** As `printCommand`, with a long value that is not a string. */
  printWithValue<P>(caller: Caller, { words, value }: RequestWithValue, printer: ReplyPrinter<P>): P | Promise<P> {
    const print = (): P | Promise<P> => this.#printUnit(caller, words, printer);
    const run = (): P | Promise<P> => this.#call.value.during(value, print);
    return this.waits.areLikely && this.waits.mustWait(words) ? this.waits.next().then(run) : run();
  }

  #printUnit<P>(caller: Caller, request: CommandRequest, printer: ReplyPrinter<P>): P | Promise<P> {
    this.#begin();
    const printed = this.#printOne(caller, request, printer);
    return printed === undefined ? this.#printLater(printer) : this.#whenSafe(printed);
  }

  /** Prints the reply of the command that runs in slices, when it has one. */
  #printLater<P>(printer: ReplyPrinter<P>): Promise<P> {
    return this.sliced.whenDone((reply) => this.#whenSafe(this.#printRead(reply, printer)));
  }

  /** As `command`, for callers that wait for the journal themselves: the reply may leave when its end is safe. */
  execute(caller: Caller, request: CommandRequest): Reply {
    this.#begin();
    return this.#executeOne(caller, request);
  }

  /** As `execute`, right after another command: it may have the time of that one. */
  executeNext(caller: Caller, request: CommandRequest): Reply {
    // Unless the clock was read after that command, which then took longer.
    if (this.#lookedAtMs === this.keyspace.nowMs) this.#beginAtSameTime();
    else this.#begin();
    return this.#executeOne(caller, request);
  }

  /** When the last unit of work began, and when the clock was last read. */
  get beganAtMs(): number {
    return this.keyspace.nowMs;
  }

  get lookedAtMs(): number {
    return this.#lookedAtMs;
  }

  /** Runs commands in order, each as a unit of its own. An error is the reply at its position. Yields now and then. */
  pipeline(caller: Caller, requests: readonly CommandRequest[]): readonly Reply[] | Promise<readonly Reply[]> {
    const replies: Reply[] = [];
    const take = (reply: Reply): number => {
      replies.push(reply);
      return 0;
    };
    const end = this.printPipeline(caller, requests, { ...asTheyAre, print: take, printDone: take });
    return end === undefined ? replies : end.then(() => replies);
  }

  /** As `pipeline`; `printer` returns the bytes of a printed reply. Returns undefined when all is done and safe. */
  printPipeline(
    caller: Caller,
    requests: readonly CommandRequest[],
    printer: ReplyPrinter<number>,
  ): Promise<undefined> | undefined {
    const host = { host: this, units: this.#units };
    const end = new Pipeline(host, { caller, requests }, printer).run();
    return end === undefined ? this.#whenSafe(undefined) : end.then(() => this.#whenSafe(undefined));
  }

  /**
   * Checks every command, then runs all as one unit: one `now`, one frame. A command that fails while it runs does not
   * stop the rest.
   *
   * @throws {TransactionDiscarded} at once or later, if a command is refused or a limit stops it; then nothing has run.
   */
  transaction(caller: Caller, requests: readonly CommandRequest[]): readonly Reply[] | Promise<readonly Reply[]> {
    return this.printTransaction(caller, requests, (replies) => replies);
  }

  /** As `transaction`; prints the replies in the turn that made them. If `print` throws a CommandError, all is undone. */
  printTransaction<Printed>(
    caller: Caller,
    requests: readonly CommandRequest[],
    print: (replies: readonly Reply[]) => Printed,
  ): Printed | Promise<Printed> {
    const run = (): Printed | Promise<Printed> => this.#whenSafe(this.#runTransaction(caller, requests, print));
    const mustWait = this.sliced.isUnderWay || this.turn.mustWaitFor(TRANSACTION);
    return mustWait ? this.waits.next().then(run) : run();
  }

  #runTransaction<Printed>(
    caller: Caller,
    requests: readonly CommandRequest[],
    print: (replies: readonly Reply[]) => Printed,
  ): Printed {
    this.#begin();
    const sizeRefusal = sizeRefusalOf(requests);
    if (sizeRefusal !== undefined) throw this.#discard(sizeRefusal);
    let hasRoom: boolean | undefined;
    const commands = requests.map((request) => {
      const command = this.#find(caller, request, "multi");
      if (command instanceof CommandError) throw this.#discard(command);
      // As in Redis, nothing is queued while memory is short, not even reads.
      hasRoom ??= this.#eviction.makeRoom();
      const refusal = hasRoom ? this.#growthRefusalOf(command) : outOfMemory;
      if (refusal !== undefined) throw this.#discard(refusal);
      return command;
    });
    const overQuota = this.#quota.take(requests.length, this.keyspace.nowMs);
    if (overQuota !== undefined) throw this.#discard(overQuota);
    const queued = commands.map((command, index) => ({ command, words: requests[index] as CommandRequest }));
    let printed: Printed;
    try {
      printed = this.runAllQueued(caller, queued, print);
    } catch (error) {
      if (error instanceof StoppedUnit) throw this.#discard(error);
      throw error;
    }
    this.#commit();
    this.turn.kind = TRANSACTION;
    return printed;
  }

  /**
   * Whether a session may queue a command for a transaction: the command, or why not. Nothing is queued while memory is
   * short, as in Redis.
   */
  admit(caller: Caller, request: CommandRequest): Command | CommandError {
    this.#begin();
    const command = this.#find(caller, request, "multi");
    let refusal: CommandError | undefined;
    if (command instanceof CommandError) refusal = command;
    else if (!this.#eviction.makeRoom()) refusal = outOfMemory;
    else refusal = this.#growthRefusalOf(command);
    this.#commit();
    if (refusal === undefined) return command;
    this.errorCounts.add(refusal.text);
    return refusal;
  }

  /** Why none of these commands may run now, as part of the running unit of work, which is that of EXEC. */
  refusalOfQueued(queued: readonly QueuedCommand[]): CommandError | undefined {
    const hasRoom = this.#eviction.makeRoom();
    for (const { command } of queued) {
      const refusal = !hasRoom && command.mayGrow ? outOfMemory : this.#growthRefusalOf(command);
      if (refusal !== undefined) return refusal;
    }
    return this.#quota.take(queued.length, this.keyspace.nowMs);
  }

  /**
   * Runs queued commands as part of the running unit of work, which is that of EXEC, and prints their replies.
   *
   * @throws {StoppedUnit} if a limit has stopped them; then they have changed nothing.
   */
  runAllQueued<Printed>(
    caller: Caller,
    queued: readonly QueuedCommand[],
    print: (replies: readonly Reply[]) => Printed,
  ): Printed {
    this.#scriptMsLeft = SCRIPT_LIMITS_PER_TRANSACTION * this.context.interpreter.budgetMs;
    try {
      const batch = new BatchReplies();
      return this.#atomic.run(() => {
        for (const command of queued) {
          batch.add(this.#runQueued(caller, command));
          this.#atomic.checkSize();
        }
        return this.#atomic.print(() => print(batch.replies));
      }, "the transaction was undone");
    } finally {
      this.#scriptMsLeft = Number.POSITIVE_INFINITY;
    }
  }

  /** Runs a queued command, if the caller still has the right. */
  #runQueued(caller: Caller, queued: QueuedCommand): Reply {
    const { user } = caller;
    const { words } = queued;
    const command = commandOfNumber(queued.command.number);
    const refusal = user.isUnrestricted ? undefined : user.refusalOf(command, words);
    if (refusal === undefined) return this.#run(caller, command, words);
    this.noteDenial(caller, refusal, { context: "multi", command });
    return this.#answerError(noPermissionAnyMore(refusal));
  }

  /** Removes expired keys and fields within a short time limit. Returns how many it removed. */
  sweepExpired(): number {
    if (this.sliced.isUnderWay) return 0;
    this.activity.sample(this.context.clock.real.monotonicMs());
    this.tracking.sweep();
    this.#begin();
    if (this.journalRefusal !== undefined) return 0;
    const isSweeping = this.context.compat?.isSweeping !== false;
    const clock = this.context.clock.real;
    const startMs = clock.monotonicMs();
    const sweep = isSweeping ? sweepExpired(this.keyspace, clock) : noSweep;
    this.#eviction.makeRoom();
    this.#commit();
    const endMs = clock.monotonicMs();
    this.activity.addSweep(sweep, endMs - startMs);
    this.turn.charge(endMs - startMs);
    this.slowRuns.noteSweep({ atMs: this.keyspace.nowMs, tookMs: endMs - startMs });
    return sweep.removedCount;
  }

  /** True while there are more keys to evict than a unit of work had time for. */
  get isEvicting(): boolean {
    return this.#eviction.hasBacklog;
  }

  setMemory(settings: MemorySettings, { evicts } = { evicts: true }): void {
    this.keyspace.memory = settings;
    this.#eviction.settingsChanged();
    if (evicts) this.#eviction.makeRoom();
  }

  setEventFlags(flags: string): void {
    this.eventFlags = flags;
    this.keyspace.onEvent = eventNotifier(flags, this.pubsub);
  }

  /** Removes all keys, and the state beside them, as a unit of its own. */
  reset(): void {
    this.sliced.end();
    this.#begin();
    clearKeyspace(this.keyspace);
    flushLibraries(this);
    this.users.clear();
    this.scripts.cache.flush();
    this.scripts.closeStates();
    this.#commit();
  }

  runScript(rules: ScriptRules, script: (commands: CommandsOfScript) => Reply): Reply {
    const run = (): Reply => this.#runScript(rules, script);
    return rules.isReadOnly ? run() : this.#atomic.run(run, "its writes were undone"); // keeps (4)
  }

  #runScript(rules: ScriptRules, script: (commands: CommandsOfScript) => Reply): Reply {
    const { keyspace } = this;
    const { caller } = this.#call;
    if (this.#scriptMsLeft <= 0)
      throw transactionScriptsTooLong(SCRIPT_LIMITS_PER_TRANSACTION * this.context.interpreter.budgetMs);
    const commands = new ScriptCommands({
      database: this,
      caller,
      rules,
      run: (as, command, words) => {
        const reply = this.#run(as, command, words);
        this.#atomic.checkSize();
        return reply;
      },
    });
    const call = this.#call;
    const { mayRemoveExpired } = keyspace;
    // As for a script's own limit: CPU time, which costs something to read.
    const isCounted = this.#scriptMsLeft < Number.POSITIVE_INFINITY;
    const startMs = isCounted ? this.context.clock.threadCpuMs() : 0;
    this.#call = this.#scriptCall;
    if (rules.isReadOnly) keyspace.mayRemoveExpired = false;
    try {
      return script(commands);
    } finally {
      this.#call = call;
      keyspace.mayRemoveExpired = mayRemoveExpired;
      if (isCounted) this.#scriptMsLeft -= this.context.clock.threadCpuMs() - startMs;
    }
  }

  get runsUnit(): boolean {
    return this.#atomic.isRunning && !this.#atomic.isAlone;
  }

  /** Sets the account to the memory that keys, values, scripts and tracked keys take now. */
  countMemory(): void {
    const { usedBytes } = this.keyspace;
    if (usedBytes > this.activity.usedBytesPeak) this.activity.usedBytesPeak = usedBytes;
    this.memory.set(usedBytes + this.scripts.cache.bytes + this.tracking.bytes);
  }

  /** False if the running command may take no memory, because memory was short when it began. */
  get hasRoom(): boolean {
    return this.#eviction.hasRoom;
  }

  /** Refuses all further commands, such as the rest of a long pipeline: the journal has dropped the database. */
  drop(): void {
    this.#isDropped = true;
    this.memory.close();
    this.pubsub.dropAll();
    this.scripts.closeStates();
    this.waiters.endAll(errorReply(databaseDropped));
    this.sliced.end(errorReply(databaseDropped));
    this.sessions.killAll();
  }

  /** Checks that a caller may subscribe, by the words of the command over TCP. @throws {CommandError} if it may not. */
  checkListening(caller: Caller, words: CommandRequest): void {
    this.#begin();
    if (this.#isDropped) throw databaseDropped;
    const { user } = caller;
    const [name = ""] = words;
    const command = findCommand(name);
    let denial = user.isUnrestricted ? undefined : noPermission(name);
    if (command !== undefined && !user.isUnrestricted) denial = user.refusalOf(command, words);
    if (denial !== undefined) this.noteDenial(caller, denial, { context: "toplevel", command });
    const refusal = denial ?? this.#quota.take(1, this.keyspace.nowMs);
    if (refusal === undefined) return;
    this.errorCounts.add(refusal.text);
    throw refusal;
  }

  /** Adds a failed login with this name to ACL LOG: a wrong password, or a disabled user. */
  noteFailedLogin(username: Bytes, session?: Session): void {
    logFailedLogin(this.users.log, username, { session, nowMs: this.context.clock.nowMs() });
  }

  /** Adds a refusal to ACL LOG, if the reason is a missing right. */
  noteDenial(caller: Caller, { denied }: CommandError, place: DenialPlace): void {
    if (denied === undefined) return;
    logDenial(this.users.log, denied, { ...place, caller, nowMs: this.keyspace.nowMs });
  }

  /** Removes all subscriptions of a subscriber that disconnected. */
  closeSubscriber(subscriber: Subscriber): void {
    this.pubsub.close(subscriber);
    this.monitors.remove(subscriber);
  }

  /** The command of this name in any case, or undefined. */
  findCommand(name: Bytes): Command | undefined {
    const command = findCommand(name);
    return command !== undefined && this.#exists(command) ? command : undefined;
  }

  /** The command that is called `get` or `object|encoding`, in any case, or undefined. */
  findByFullName(fullName: Bytes): Command | undefined {
    const [name = "", subcommandName, ...rest] = fullName.split("|");
    const command = this.findCommand(name);
    if (rest.length > 0) return undefined;
    return subcommandName === undefined ? command : command?.subcommandByName?.get(upperCase(subcommandName));
  }

  /** Rebuilds all keys from frames, as a restart would, within the running unit, unjournaled: for DEBUG RELOAD. */
  reload(): void {
    reloadDatabase(this);
  }

  /** Whether a user of this name may log in. */
  hasUser(name: Bytes): boolean {
    return isBuiltIn(name) || this.users.find(name) !== undefined;
  }

  /** Counters of a command since the start; for INFO and the metrics. */
  countsOf(command: CommandFacts): CommandCounts {
    let counts = this.#counts[command.number];
    if (counts === undefined) {
      counts = new CommandCounts();
      this.#counts[command.number] = counts;
    }
    return counts;
  }

  /** Resets all counters. */
  resetCounts(): void {
    this.#counts.fill(undefined);
    this.unknownCount = 0;
    this.errorCounts.reset();
    this.activity.reset();
    this.keyspace.resetCounts();
  }

  // keeps (1)
  #begin(): void {
    this.keyspace.nowMs = this.context.clock.nowMs();
    this.#lookedAtMs = this.keyspace.nowMs;
    this.#beginAtSameTime();
  }

  #beginAtSameTime(): void {
    this.context.assertSound();
    this.sliced.beginUnit();
    // Asked once: a shard may be resumed within a unit, whose expired keys are hidden and not removed until its end.
    const { journal } = this.context;
    this.journalRefusal = journal.refusalOf === undefined ? journal.refusal : journal.refusalOf(this);
    this.keyspace.mayRemoveExpired = this.journalRefusal === undefined;
  }

  #commit(): void {
    const { frame } = this.context;
    if (this.search.hasNoted && !this.sliced.isUnderWay) this.search.catchUp();
    if (this.tracking.isOn) this.tracking.beginServing();
    if (this.waiters.hasReady) this.#serveWaiting();
    if (frame.unitByteCount > 0) {
      this.activity.changeCount += 1;
      this.countMemory();
    }
    this.frames.endUnit(this.#pushes.madeCount > 0 || this.users.hasChanges || this.tracking.isOn);
    if (this.users.hasChanges) this.sessions.usersChanged(this.users.commit(), this.#call.session);
    if (this.tracking.isOn) this.tracking.flush();
    this.#pushes.commit();
  }

  #serveWaiting(): void {
    try {
      this.waiters.serve();
    } catch (error) {
      this.context.reportBug(error);
      throw error;
    }
  }

  // keeps (2)
  #whenSafe<R>(reply: R): R | Promise<R> {
    const { end, safe } = this.context.journal;
    return safe >= end ? reply : this.context.journal.whenSafe(end).then(() => reply);
  }

  /** Runs one command and ends its unit of work. */
  #executeOne(caller: Caller, request: CommandRequest): Reply {
    const command = this.#findRunnable(caller, request);
    this.sliced.mayPause = caller.waiting !== undefined;
    let reply: Reply;
    if (command instanceof CommandError) reply = this.#answerError(command);
    else if (command.mayChange && this.#atomic.isTight)
      reply = this.#atomic.printAlone(() => this.#run(caller, command, request), asTheyAre, this.#answerError);
    else reply = this.#run(caller, command, request);
    this.#commit();
    return reply;
  }

  /** Runs one command, ends its unit of work and prints its reply; undefined: that comes later. keeps (4) */
  #printOne<Printed>(caller: Caller, request: CommandRequest, printer: ReplyPrinter<Printed>): Printed | undefined {
    const command = this.#findRunnable(caller, request);
    this.sliced.mayPause = true;
    const isRefused = command instanceof CommandError;
    if (!isRefused && command.mayChange && this.#atomic.mayNotFit({ command, words: request }, printer.bytesMax)) {
      const run = (): Reply => this.#run(caller, command, request);
      const printed = this.#atomic.printAlone(run, printer, this.#answerError);
      this.#commit();
      return printed;
    }
    const reply = isRefused ? this.#answerError(command) : this.#run(caller, command, request);
    this.#commit();
    if (isRefused || command.mayChange) return printer.printDone(reply);
    return reply === later ? undefined : this.#printRead(reply, printer);
  }

  /** Prints the reply of a command that has changed nothing. */
  #printRead<Printed>(reply: Reply, printer: ReplyPrinter<Printed>): Printed {
    try {
      return printer.print(reply);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return printer.printDone(this.#answerError(error));
    }
  }

  /** The command, if it may run now. */
  #findRunnable(caller: Caller, request: CommandRequest): Command | CommandError {
    const command = this.#find(caller, request);
    if (command instanceof CommandError) return command;
    const refusal = this.#refusalOf(command) ?? this.#quota.take(1, this.keyspace.nowMs);
    if (refusal === undefined) return command;
    this.countsOf(command).rejected += 1;
    return refusal;
  }

  /** The command that may run, or the error. */
  #find(caller: Caller, request: CommandRequest, context: AclContext = "toplevel"): Command | CommandError {
    if (this.#isDropped) return databaseDropped;
    const name = request[0];
    if (name === undefined) return emptyCommand;
    let command = findCommand(name);
    if (command === undefined || !(caller.transport === "http" ? command.isAvailableOverHttp : this.#exists(command)))
      return refuseName(this, name, command);
    if (command.subcommandByName !== undefined && request.length > 1) {
      const subcommand = request[1] as Bytes;
      const found = command.subcommandByName.get(upperCase(subcommand));
      if (found === undefined) return refuseSubcommand(this, command, subcommand);
      command = found;
    }
    const { arity } = command;
    if (arity >= 0 ? request.length !== arity : request.length < -arity) return refuseArity(this, caller, command);
    const denial = caller.user.isUnrestricted ? undefined : caller.user.refusalOf(command, request);
    return denial === undefined ? command : refuseRight(this, denial, { caller, command, context });
  }

  /** False for a command that exists only for the tests of Redis. */
  #exists(command: Command): boolean {
    return !command.isCompatOnly || this.context.compat !== undefined;
  }

  /** Why this well-formed command may not start now. Evicts first, for every command, as Redis does. */
  #refusalOf(command: CommandFacts): CommandError | undefined {
    if (!this.#eviction.makeRoom() && command.mayGrow) return outOfMemory;
    return this.#growthRefusalOf(command);
  }

  /** The same without evicting. */
  #growthRefusalOf(command: CommandFacts): CommandError | undefined {
    return command.mayGrow && !this.memory.mayGrow ? memoryUsedUp : this.#diskRefusalOf(command);
  }

  #diskRefusalOf(command: CommandFacts): CommandError | undefined {
    return !command.isWrite || this.journalRefusal === undefined ? undefined : diskRefusal(this.journalRefusal);
  }

  #run(caller: Caller, command: Command, request: CommandRequest): Reply {
    const { runInSession } = command;
    const { session } = caller;
    if (session !== undefined && !session.isExecuting) session.lastCommand = command;
    if (!command.isQuick) {
      // It may look at the journal, or take long.
      this.frames.append();
      this.turn.begin(command.number, command.fullName);
    }
    this.activity.commandCount += 1;
    const counts = this.countsOf(command);
    const { keyspace, search, slowRuns } = this;
    const isTimed = counts.begin() || slowRuns.timesEveryRun;
    const lookedAtMs = this.#lookedAtMs;
    const startMs = isTimed ? this.context.clock.real.monotonicMs() : lookedAtMs;
    let reply: Reply;
    try {
      if (keyspace.search.definitions.size > 0) checkIndexKeys(keyspace.search, command, request);
      const call = this.#call.prepare(caller, command, request);
      if (runInSession === undefined || session === undefined) reply = command.run(call);
      else {
        const said = runInSession(session, request);
        reply = said === undefined ? later : said;
      }
    } catch (error) {
      if (!(error instanceof CommandError)) {
        this.context.reportBug(error);
        throw error;
      }
      counts.failed += 1;
      // The transaction that the script is part of is undone.
      if (error instanceof StoppedUnit && this.#atomic.isRunning && !this.#atomic.isAlone) throw error;
      reply = this.#answerError(error);
    }
    if (search.hasNoted && !this.sliced.isUnderWay) search.catchUp();
    if (isTimed || slowRuns.mustLook(command, request, reply)) {
      const tookMs = (isTimed ? this.context.clock.real.monotonicMs() : this.context.clock.nowMs()) - startMs;
      if (isTimed) counts.addTime(tookMs);
      // The commands of a script have read the clock too.
      this.#lookedAtMs = Math.max(this.#lookedAtMs, lookedAtMs + tookMs);
      // A blocked command is recorded when it has its reply.
      if (this.sliced.isUnderWay) this.sliced.noteTime(tookMs);
      else if (reply === later && caller.waiting !== undefined) this.waiters.noteTime(caller.waiting, tookMs);
      else if (tookMs >= slowRuns.thresholdMs)
        noteSlow(this, { command, caller, words: this.#call.value.wordsWith(command, request), tookMs });
    }
    if (command.isCached && this.tracking.isReading) this.tracking.noteRead(command, request);
    this.turn.kind = command.number;
    if (this.monitors.isWatched && command.isShownToMonitors) {
      const words = command.shownWords?.(request) ?? this.#call.value.wordsWith(command, request);
      this.monitors.notify({ words, address: caller.address, nowMs: this.keyspace.nowMs });
    }
    return reply;
  }

  /** Runs a unit of work that no command requests, unless nothing may be written now. */
  readonly runUnit = (work: () => void): void => {
    this.#begin();
    if (this.journalRefusal !== undefined) return;
    work();
    this.#commit();
  };

  readonly #answerError = (error: CommandError): Reply => {
    this.errorCounts.add(error.text);
    return errorReply(error);
  };

  #discard(error: CommandError): TransactionDiscarded {
    // Evictions stay.
    this.#commit();
    this.errorCounts.add(error.text);
    return new TransactionDiscarded(error);
  }
}
