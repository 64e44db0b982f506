/** A user of messaging: a world of its own. Nothing of one user is ever seen by another. */
import { MemoryAccount } from "../../kernel/memory-guard.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Deduplication } from "./deduplication.ts";
import type { Destination } from "./destination.ts";
import type { FlowKey } from "./flow-key.ts";
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
  /** In journals and histories; never given out again. */
  readonly number: number;
  /** Of its frames, what the journal has not written yet. */
  journalBytes = 0;
  readonly queues = new Map<string, Queue>();
  /** Messages that have outlived their queue, by sequence number: a new queue of its name is another one. */
  readonly unqueued = new Set<number>();
  readonly schedules = new Map<string, Schedule>();
  readonly groups = new Map<string, UrlGroup>();
  readonly flowKeys = new Map<string, FlowKey>();
  /** Workflow runs, ended ones too until they are forgotten. */
  readonly runs = new Map<string, Run>();
  readonly runOrder = new RunOrder<Run>();
  /** Those of them that have ended, in the order of their end: the first are forgotten first. */
  readonly endedRuns = new Set<Run>();
  /** Runs that wait, by the event, in the order in which they began to. */
  readonly waiters = new Map<string, Set<Waiter>>();
  readonly deadLetters = new DeadLetters();
  readonly deduplication: Deduplication;
  /** Those that have messages now. */
  readonly destinations = new Map<string, Destination>();
  /** Due, through their queue, and waiting for a delivery slot. */
  readonly ready = new MessageList("a free delivery slot");
  /** Calls under way. */
  readonly inFlight = new Set<number>();
  /** It stands among those that are served in turn. */
  isInTurn = false;
  signingKeys: SigningKeys;
  /** What the operator gave it; rotations go on from there. */
  givenKeys: SigningKeys;
  /** Messages of the day of `countedDay` (days since the epoch, UTC). */
  dayCount = 0;
  countedDay = 0;
  isDropped = false;
  /** What all of this takes of the thread's memory. */
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
