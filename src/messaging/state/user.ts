/** A user of messaging. Users are isolated: no user sees data of another. */
import { MemoryAccount } from "../../kernel/memory-guard.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Deduplication } from "./deduplication.ts";
import type { Destination } from "./destination.ts";
import type { FlowKey } from "./flow-key.ts";
import type { Message } from "./message.ts";
import { MessageList } from "./message-list.ts";
import type { Queue } from "./queue.ts";
import type { Run, Waiter } from "./run.ts";
import { RunOrder } from "./run-order.ts";
import type { Schedule } from "./schedule.ts";
import type { UrlGroup } from "./url-group.ts";

/** Deliveries are signed with the current one; receivers accept both. */
export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

export class User {
  readonly name: string;
  /** In journals and histories; never reused. */
  readonly number: number;
  /** Bytes of its frames that the journal has not written yet. */
  journalBytes = 0;
  readonly queues = new Map<string, Queue>();
  /** Messages whose queue was removed, by sequence number: they are not in a new queue of the same name. */
  readonly unqueued = new Set<number>();
  readonly schedules = new Map<string, Schedule>();
  readonly groups = new Map<string, UrlGroup>();
  readonly flowKeys = new Map<string, FlowKey>();
  /** Workflow runs, including ended ones until they are forgotten. */
  readonly runs = new Map<string, Run>();
  readonly runOrder = new RunOrder<Run>();
  /** Ended runs in the order of their end: the first are forgotten first. */
  readonly endedRuns = new Set<Run>();
  /** Waiters by event, in the order in which they began to wait. */
  readonly waiters = new Map<string, Set<Waiter>>();
  readonly deadLetters = new DeadLetters();
  readonly deduplication: Deduplication;
  /** Destinations that have messages now. */
  readonly destinations = new Map<string, Destination>();
  /** Messages that are due, have the turn of their queue, and wait for a delivery slot. */
  readonly ready = new MessageList("a free delivery slot");
  /** Calls under way. */
  readonly inFlight = new Set<number>();
  /** True while it is among the users that are served in turn. */
  isInTurn = false;
  signingKeys: SigningKeys;
  /** The keys that the operator configured; rotations start from them. */
  givenKeys: SigningKeys;
  /** Messages of the day of `countedDay` (days since the epoch, UTC). */
  dayCount = 0;
  countedDay = 0;
  isDropped = false;
  /** Its data is moving to another shard: nothing of it is called or changed (`Engine.freeze`). */
  isFrozen = false;
  /** Messages whose calls the freeze has given up, or whose cancellation it has delayed: they go on after it. */
  readonly suspended = new Set<Message>();
  /** Raised when calls under way are given up: outcomes of earlier ones are ignored. */
  callEpoch = 0;
  /** The memory that all of this takes. */
  readonly memory: MemoryAccount;

  constructor(
    name: string,
    number: number,
    {
      keys,
      windowMs,
      memory = new MemoryAccount(name),
    }: { keys: SigningKeys; windowMs: number; memory?: MemoryAccount },
  ) {
    this.name = name;
    this.number = number;
    this.signingKeys = keys;
    this.givenKeys = keys;
    this.memory = memory;
    this.deduplication = new Deduplication(windowMs, memory);
  }
}
