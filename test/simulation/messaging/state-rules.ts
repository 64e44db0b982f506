/** Rules for the engine's state at any moment, compared with the ledger. */
import type { Body } from "../../../src/messaging/bodies/body.ts";
import type { Engine } from "../../../src/messaging/engine.ts";
import type { DeadLetter } from "../../../src/messaging/state/dead-letters.ts";
import type { FlowKey } from "../../../src/messaging/state/flow-key.ts";
import type { MessagingState } from "../../../src/messaging/state/messaging-state.ts";
import { type MessageState, messageState, messageStateName } from "../../../src/messaging/state/states.ts";
import type { User } from "../../../src/messaging/state/user.ts";
import type { Admission } from "./admission.ts";
import type { Ledger, Tracked } from "./ledger.ts";
import type { Swarm } from "./swarm.ts";
import { check } from "./violation.ts";

/** Each counter's slots are its calls under way, and no waiter for a slot is forgotten. */
export function checkSlots(
  engine: Engine,
  { ledger, admission, swarm }: { ledger: Ledger; admission: Admission; swarm: Swarm },
  isSynced: boolean,
): void {
  const { state, scheduler } = engine;
  scheduler.assertConsistent();
  const { inFlight } = ledger;
  check(scheduler.inFlightCount === inFlight.size, () => `${scheduler.inFlightCount} slots for ${inFlight.size} calls`);
  const { now } = engine;
  const lateMs = now.passedMs - (scheduler.nextDueMs ?? Number.POSITIVE_INFINITY);
  check(lateMs < 0, () => `Something was due ${lateMs} ms ago`);
  if (!swarm.features.has("clock steps")) {
    const lateByWallMs = now.wallMs - (scheduler.nextWallDueMs ?? Number.POSITIVE_INFINITY);
    check(lateByWallMs < 0, () => `Something was due at a moment ${lateByWallMs} ms ago`);
  }
  const hasSlots = scheduler.inFlightCount < engine.limits.parallelism && !swarm.features.has("full disk");
  for (const user of state.users) {
    const isServed =
      user.isFrozen || user.ready.size === 0 || user.inFlight.size >= engine.limits.userParallelism || !hasSlots;
    check(isServed, () => `${user.ready.size} messages of ${user.name} are ready although slots are free`);
    const ofUser = [...inFlight.values()].filter((message) => message.user === user.number);
    checkSet(user.inFlight, ofUser, () => `the user ${user.name}`);
    for (const { origin, inFlight: slots } of user.destinations.values()) {
      const ofOrigin = ofUser.filter((message) => message.origin === origin);
      checkSet(slots, ofOrigin, () => origin);
    }
    for (const { key, inFlight: slots } of user.flowKeys.values()) {
      const ofKey = ofUser.filter(
        ({ fields, sequence }) => fields.flowControl?.key === key && !admission.isForgotten(sequence),
      );
      checkSet(slots, ofKey, () => `the key ${key}`);
    }
    checkQueueSlots(user, state, admission);
    // A message not yet on the disk has brought its limits to its key, and wakes others once it is.
    if (isSynced && !user.isFrozen) checkWaking(user, engine);
  }
}

/** Where a slot is free and messages wait for it, one of them has been woken, or a timer will wake one. */
function checkWaking(user: User, engine: Engine): void {
  const { state, limits } = engine;
  const keys = new Set<FlowKey>();
  const origins = new Set<string>();
  for (let message = user.ready.first; message !== undefined; message = message.next) {
    const key = state.flowKeyOf(message);
    if (key !== undefined) keys.add(key);
    origins.add(message.envelope.origin);
  }
  for (const key of user.flowKeys.values()) {
    const isAwaited = key.waiting.size > 0 && key.timerMs === undefined && key.hasRoom(engine.now.passedMs);
    check(
      !isAwaited || keys.has(key),
      () => `The key ${key.key} has room, but ${key.waiting.size} messages wait for it`,
    );
  }
  for (const { origin, waiting, inFlight } of user.destinations.values()) {
    const isAwaited = waiting.size > 0 && inFlight.size < limits.originParallelism;
    check(!isAwaited || origins.has(origin), () => `${origin} has room, but ${waiting.size} messages wait for it`);
  }
}

function checkSet(slots: ReadonlySet<number>, calls: readonly Tracked[], whose: () => string): void {
  const isEqual = slots.size === calls.length && calls.every(({ sequence }) => slots.has(sequence));
  check(isEqual, () => `Slots of ${whose()}: ${[...slots]} for calls ${calls.map(({ sequence }) => sequence)}`);
}

function checkQueueSlots(user: User, state: MessagingState, admission: Admission): void {
  for (const queue of user.queues.values()) {
    const { name } = queue.record;
    const owners = queue.slotOwners;
    if (owners.length === 0) continue;
    const width = admission.widthOf(user.number, name);
    check(owners.length <= width, () => `The queue ${name} has slots of ${owners}, but at most ${width} are allowed`);
    const keepers = new Set<number>();
    for (const message of state.messages) {
      if (message.user === user) keepers.add(message.slotOwner).add(message.sequence);
    }
    for (const owner of owners)
      check(keepers.has(owner), () => `The queue ${name} keeps the slot of ${owner}, which is gone`);
  }
}

/** The existing messages and dead letters are the expected ones. */
export function checkState(state: MessagingState, ledger: Ledger): void {
  const { unfinished } = ledger;
  check(state.messages.size === unfinished.length, () => {
    const missing = unfinished.filter(({ sequence }) => state.messages.get(sequence) === undefined);
    return `${state.messages.size} messages wait, not ${unfinished.length}; missing ${missing.map((one) => one.sequence)}`;
  });
  for (const message of unfinished) {
    const found = state.messages.get(message.sequence);
    check(found !== undefined, () => `Message ${message.sequence} (${ledger.history(message)}) is lost`);
    const last = message.entries.at(-1) as { state: MessageState; life: number };
    // A call of a life before has been opened again.
    const isSame = found?.state === last.state || (last.state === messageState.active && last.life < ledger.life);
    check(
      isSame,
      () => `Message ${message.sequence} is ${messageStateName(found?.state ?? 0)}: ${ledger.history(message)}`,
    );
  }
  for (const user of state.users) checkLetters(user, ledger);
}

/** One dead letter for each failed message until it is removed, and no others. */
export function checkLetters(user: User, ledger: Ledger): void {
  const letters = new Map<number, DeadLetter>();
  for (const letter of user.deadLetters.values()) {
    const last = ledger.messages.get(letter.sequence)?.entries.at(-1)?.state;
    check(last === messageState.failed, () => `A dead letter of message ${letter.sequence}, which did not fail`);
    check(!letters.has(letter.sequence), () => `Two dead letters of message ${letter.sequence}`);
    letters.set(letter.sequence, letter);
  }
  for (const message of ledger.messages.values()) {
    if (message.user !== user.number || message.entries.at(-1)?.state !== messageState.failed) continue;
    const isThere = letters.has(message.sequence) || ledger.isTaken(message);
    check(isThere, () => `Message ${message.sequence} failed, but has no dead letter`);
  }
}

/** All stored bodies can be read, and are what was published. */
export async function checkBodies(state: MessagingState, ledger: Ledger): Promise<void> {
  const { bodies } = state;
  let memoryBytes = 0;
  const read = async (body: Body, expected: Buffer | undefined, whose: string): Promise<void> => {
    memoryBytes += body.bytes?.length ?? 0;
    const bytes = await bodies.load(body);
    check(expected?.equals(bytes) !== false, () => `The body of ${whose} is not what was published`);
  };
  const reads: Promise<void>[] = [];
  for (const { sequence, body } of state.messages) {
    reads.push(read(body, ledger.messages.get(sequence)?.body, `message ${sequence}`));
  }
  for (const user of state.users) {
    for (const { sequence, body, responseBody } of user.deadLetters.values()) {
      reads.push(read(body, ledger.messages.get(sequence)?.body, `dead letter ${sequence}`));
      reads.push(read(responseBody, undefined, `the response of dead letter ${sequence}`));
    }
  }
  const countedBytes = bodies.memoryBytes;
  check(memoryBytes === countedBytes, () => `${memoryBytes} bytes are in memory, and ${countedBytes} are counted`);
  await Promise.all(reads);
}
