/** The door of one user: asks the engine, and waits for the disk where something changed. */
import { type Body, loadUndamaged } from "./bodies/body.ts";
import { cancelMatching, deadLettersOf, deleteDeadLetters, retryDeadLetters } from "./bulk.ts";
import { parseCron } from "./cron/cron.ts";
import { newSigningKey } from "./delivery/signing-keys.ts";
import type {
  Filter,
  FlowKeyView,
  LoggedMessage,
  LogPage,
  Page,
  QueueView,
  ScheduleView,
  SigningKeys,
  UserDoor,
} from "./door.ts";
import type { Engine } from "./engine.ts";
import { badRequest, quotaExceeded } from "./failure.ts";
import type { LogReader } from "./log-reader.ts";
import type { PublishOptions, PublishOutcome, PublishRequest } from "./options/publish-request.ts";
import { findGroup, isUrl, newQueue } from "./publish.ts";
import type { DeadLetter } from "./state/dead-letters.ts";
import { drawId } from "./state/drawn-ids.ts";
import { type FlowKey, PERIOD_MS_DEFAULT } from "./state/flow-key.ts";
import type { Message } from "./state/message.ts";
import { messageId, parseMessageId } from "./state/message-id.ts";
import { driftOf, type Moment } from "./state/moment.ts";
import type { Queue } from "./state/queue.ts";
import type { Schedule } from "./state/schedule.ts";
import { state } from "./state/states.ts";
import type { Endpoint, UrlGroup } from "./state/url-group.ts";
import type { User } from "./state/user.ts";
import { waitsFor } from "./state/waits-for.ts";
import { EngineWorkflowDoor } from "./workflow/engine-workflow-door.ts";
import type { WorkflowDoor } from "./workflow/workflow-door.ts";

/** How long a finished message can still be looked up. */
const FINISHED_MS = 60_000;

export class EngineUserDoor implements UserDoor {
  readonly #engine: Engine;
  readonly #user: User;
  readonly #log: LogReader;
  readonly workflows: WorkflowDoor;

  constructor(engine: Engine, user: User, log: LogReader) {
    this.#engine = engine;
    this.workflows = new EngineWorkflowDoor(engine, user);
    this.#user = user;
    this.#log = log;
  }

  get name(): string {
    return this.#user.name;
  }

  whenSafe(): Promise<void> | undefined {
    return this.#engine.whenSafe();
  }

  async publish(requests: readonly PublishRequest[]): Promise<readonly PublishOutcome[]> {
    return this.#engine.publish(this.#user, requests);
  }

  // Messages.

  findMessage(id: string): Message | undefined {
    const parsed = parseMessageId(id);
    const message = parsed === undefined ? undefined : this.#engine.realm.messages.get(parsed.sequence);
    return message?.nonce === parsed?.nonce && message?.user === this.#user ? message : undefined;
  }

  waitsFor(message: Message): string {
    return waitsFor(this.#engine.realm, message, this.#engine.now);
  }

  async findFinished(id: string): Promise<LoggedMessage | undefined> {
    if (parseMessageId(id) === undefined) return undefined;
    const filter: Filter = { attributes: new Map([["messageId", [id]]]) };
    const { entries } = await this.#log.list(this.#user, filter, { order: "latest first", count: 1 });
    const [last] = entries;
    if (last === undefined || last.timeMs < this.#engine.nowMs() - FINISHED_MS) return undefined;
    return last.message;
  }

  loadBody(body: Body): Promise<Buffer | undefined> {
    return loadUndamaged(this.#engine.realm.bodies, body);
  }

  async cancel(id: string): Promise<boolean> {
    this.#engine.assertWritable(this.#user);
    const message = this.findMessage(id);
    // Its run would wait for it for ever.
    if (message?.run?.isStarted === true)
      throw badRequest(
        `Invalid value for messageId: the message ${id} belongs to the workflow run ${message.run.id}: cancel the run`,
      );
    if (message === undefined || !this.#engine.cancel(message)) return false;
    await this.#engine.finish();
    return true;
  }

  async cancelMatching(filter: Filter, countMax?: number): Promise<number> {
    this.#engine.assertWritable(this.#user);
    const count = cancelMatching(this.#engine, this.#user, filter, countMax);
    await this.#engine.finish();
    return count;
  }

  logs(filter: Filter, page: Page): Promise<LogPage> {
    return this.#log.list(this.#user, filter, page);
  }

  // Queues.

  get queues(): readonly QueueView[] {
    return [...this.#user.queues.values()].map(viewOfQueue);
  }

  queue(name: string): QueueView | undefined {
    const queue = this.#user.queues.get(name);
    return queue === undefined ? undefined : viewOfQueue(queue);
  }

  async putQueue(name: string, { parallelism, isPaused }: { parallelism?: number; isPaused?: boolean }): Promise<void> {
    this.#engine.assertMayGrow(this.#user);
    const { queuesMax, queueParallelismMax } = this.#engine.limits;
    const { queues } = this.#user;
    if (parallelism !== undefined && parallelism > queueParallelismMax) {
      throw quotaExceeded(`parallelism is ${parallelism}, and the most is ${queueParallelismMax}`);
    }
    if (!queues.has(name) && queues.size >= queuesMax)
      throw quotaExceeded(`Maximum number of queues exceeded: ${queuesMax}`);
    const nowMs = this.#engine.nowMs();
    const known = queues.get(name)?.record ?? newQueue(name, nowMs);
    const queue = this.#engine.changes.putQueue(this.#user, {
      ...known,
      parallelism: parallelism ?? known.parallelism,
      isPaused: isPaused ?? known.isPaused,
      updatedAtMs: nowMs,
    });
    this.#engine.scheduler.advance(queue, this.#engine.now);
    await this.#engine.finish();
  }

  async deleteQueue(name: string): Promise<void> {
    this.#engine.assertWritable(this.#user);
    const queue = this.#user.queues.get(name);
    if (queue === undefined) return;
    // A queue that goes lets nobody through while its messages are cancelled one by one.
    queue.record = { ...queue.record, isPaused: true };
    for (const message of [...queue.members]) if (!message.isInRun) this.#engine.cancel(message);
    this.#engine.changes.removeQueue(this.#user, name);
    this.#engine.scheduler.leaveQueue(queue, this.#engine.now);
    await this.#engine.finish();
  }

  // Schedules.

  get schedules(): readonly ScheduleView[] {
    return [...this.#user.schedules.values()].map(viewOfSchedule);
  }

  schedule(id: string): ScheduleView | undefined {
    const schedule = this.#user.schedules.get(id);
    return schedule === undefined ? undefined : viewOfSchedule(schedule);
  }

  async putSchedule({
    id = drawId("scd_", this.#engine.random),
    cron,
    destination,
    options,
    body,
    callerIp,
  }: Parameters<UserDoor["putSchedule"]>[0]): Promise<string> {
    this.#engine.assertMayGrow(this.#user);
    const { schedulesMax, bodyBytesMax } = this.#engine.limits;
    const known = this.#user.schedules.get(id);
    if (body.length > bodyBytesMax)
      throw badRequest(`The body has ${body.length} bytes, and the most is ${bodyBytesMax}`);
    if (known === undefined && this.#user.schedules.size >= schedulesMax) {
      throw quotaExceeded(`Maximum number of schedules exceeded: ${schedulesMax}`);
    }
    if (!isUrl(destination)) findGroup(this.#user, destination);
    const nowMs = this.#engine.nowMs();
    const parsed = parseCron(cron);
    const schedule = this.#engine.changes.putSchedule(
      this.#user,
      {
        id,
        cron: parsed.text,
        destination,
        options,
        callerIp,
        createdAtMs: known?.record.createdAtMs ?? nowMs,
        isPaused: known?.record.isPaused ?? false,
        lastFireMs: known?.record.lastFireMs ?? 0,
        nextFireMs: parsed.nextAfterMs(nowMs) ?? 0,
        lastMessages: known?.record.lastMessages ?? [],
        error: "",
      },
      body,
    );
    this.#engine.schedules.watch(schedule);
    await this.#engine.finish();
    return id;
  }

  async deleteSchedule(id: string): Promise<boolean> {
    this.#engine.assertWritable(this.#user);
    if (!this.#user.schedules.has(id)) return false;
    this.#engine.changes.removeSchedule(this.#user, id);
    await this.#engine.finish();
    return true;
  }

  async pauseSchedule(id: string, isPaused: boolean): Promise<boolean> {
    this.#engine.assertWritable(this.#user);
    const schedule = this.#user.schedules.get(id);
    if (schedule === undefined) return false;
    this.#engine.changes.changeSchedule(this.#user, id, { isPaused });
    await this.#engine.finish();
    return true;
  }

  // URL groups.

  get groups(): readonly UrlGroup[] {
    return [...this.#user.groups.values()];
  }

  group(name: string): UrlGroup | undefined {
    return this.#user.groups.get(name);
  }

  async addEndpoints(name: string, added: readonly Endpoint[]): Promise<void> {
    this.#engine.assertMayGrow(this.#user);
    const { groupsMax, endpointsPerGroupMax } = this.#engine.limits;
    const known = this.#user.groups.get(name);
    if (known === undefined && this.#user.groups.size >= groupsMax) {
      throw quotaExceeded(`Maximum number of URL groups exceeded: ${groupsMax}`);
    }
    const endpoints = [...(known?.endpoints ?? [])];
    for (const endpoint of added) {
      const byUrl = endpoints.findIndex(({ url }) => url === endpoint.url);
      const byName = endpoints.findIndex((other) => other.name !== undefined && other.name === endpoint.name);
      const index = byUrl === -1 ? byName : byUrl;
      if (index === -1) endpoints.push(endpoint);
      else endpoints[index] = endpoint;
    }
    if (endpoints.length > endpointsPerGroupMax) {
      throw quotaExceeded(`Maximum number of endpoints in a URL group exceeded: ${endpointsPerGroupMax}`);
    }
    const nowMs = this.#engine.nowMs();
    this.#engine.changes.putGroup(this.#user, {
      ...known,
      name,
      endpoints,
      createdAtMs: known?.createdAtMs ?? nowMs,
      updatedAtMs: nowMs,
    });
    await this.#engine.finish();
  }

  async removeEndpoints(name: string, removed: readonly { url?: string; name?: string }[]): Promise<void> {
    this.#engine.assertWritable(this.#user);
    const known = this.#user.groups.get(name);
    if (known === undefined) return;
    const isRemoved = (endpoint: Endpoint): boolean =>
      removed.some(({ url, name: wanted }) => (url === undefined ? wanted === endpoint.name : url === endpoint.url));
    const endpoints = known.endpoints.filter((endpoint) => !isRemoved(endpoint));
    if (endpoints.length === 0) this.#engine.changes.removeGroup(this.#user, name);
    else this.#engine.changes.putGroup(this.#user, { ...known, endpoints, updatedAtMs: this.#engine.nowMs() });
    await this.#engine.finish();
  }

  async setGroupHeaders(name: string, headers: NonNullable<UrlGroup["headers"]>): Promise<boolean> {
    this.#engine.assertMayGrow(this.#user);
    const known = this.#user.groups.get(name);
    if (known === undefined) return false;
    this.#engine.changes.putGroup(this.#user, { ...known, headers, updatedAtMs: this.#engine.nowMs() });
    await this.#engine.finish();
    return true;
  }

  async deleteGroup(name: string): Promise<void> {
    this.#engine.assertWritable(this.#user);
    if (!this.#user.groups.has(name)) return;
    this.#engine.changes.removeGroup(this.#user, name);
    await this.#engine.finish();
  }

  // Dead letters.

  deadLetter(id: string): DeadLetter | undefined {
    return this.#user.deadLetters.get(id);
  }

  deadLetters(filter: Filter, page: Page): ReturnType<UserDoor["deadLetters"]> {
    return deadLettersOf(this.#user, filter, page);
  }

  async deleteDeadLetters(
    filter: Filter,
    page: { countMax?: number; cursor?: string },
  ): ReturnType<UserDoor["deleteDeadLetters"]> {
    this.#engine.assertWritable(this.#user);
    const result = deleteDeadLetters(this.#engine, this.#user, filter, page);
    await this.#engine.finish();
    return result;
  }

  async retryDeadLetters(
    filter: Filter,
    page: { countMax?: number; cursor?: string },
    overrides: Partial<PublishOptions>,
  ): ReturnType<UserDoor["retryDeadLetters"]> {
    this.#engine.assertWritable(this.#user);
    const result = await retryDeadLetters(this.#engine, this.#user, { filter, page, overrides });
    await this.#engine.finish();
    return result;
  }

  // Flow control.

  flowKeys(search?: string): readonly FlowKeyView[] {
    const { now } = this.#engine;
    const all = [...this.#user.flowKeys.values()];
    return all.filter(({ key }) => search === undefined || key.includes(search)).map((key) => viewOfKey(key, now));
  }

  flowKey(name: string): FlowKeyView | undefined {
    const key = this.#user.flowKeys.get(name);
    return key === undefined ? undefined : viewOfKey(key, this.#engine.now);
  }

  pauseFlowKey(name: string, isPaused: boolean): Promise<void> {
    return this.#changeKey(name, (key) => ({ ...key.record, isPaused }));
  }

  pinFlowKey(name: string, pin: { parallelism?: number; rate?: number; periodMs?: number }): Promise<void> {
    const isRatePinned = pin.rate !== undefined || pin.periodMs !== undefined;
    return this.#changeKey(name, (key) => ({
      ...key.record,
      ...(pin.parallelism !== undefined && { parallelism: pin.parallelism, isPinnedParallelism: true }),
      ...(isRatePinned && {
        rate: pin.rate ?? key.rate,
        periodMs: pin.periodMs ?? PERIOD_MS_DEFAULT,
        isPinnedRate: true,
        windowStartMs: 0,
        windowCount: 0,
      }),
    }));
  }

  unpinFlowKey(name: string, unpin: { parallelism: boolean; rate: boolean }): Promise<void> {
    return this.#changeKey(name, ({ record }) => ({
      ...record,
      isPinnedParallelism: record.isPinnedParallelism && !unpin.parallelism,
      isPinnedRate: record.isPinnedRate && !unpin.rate,
    }));
  }

  resetFlowKey(name: string, isWhole: boolean): Promise<void> {
    // A key that nobody named has nothing to forget, and does not come into being for it.
    if (!this.#user.flowKeys.has(name)) return Promise.resolve();
    return this.#changeKey(name, (key) => {
      if (isWhole) key.inFlight.clear();
      return { ...key.record, windowStartMs: 0, windowCount: 0 };
    });
  }

  get globalParallelism(): { readonly max: number; readonly count: number } {
    return { max: this.#engine.limits.userParallelism, count: this.#user.inFlight.size };
  }

  // Signing keys.

  get signingKeys(): SigningKeys {
    return this.#user.signingKeys;
  }

  async rotateSigningKeys(): Promise<SigningKeys> {
    this.#engine.assertWritable(this.#user);
    const keys = { current: this.#user.signingKeys.next, next: newSigningKey() };
    this.#engine.changes.putSigningKeys(this.#user, keys, this.#user.givenKeys);
    await this.#engine.finish();
    return keys;
  }

  async #changeKey(name: string, change: (key: FlowKey) => FlowKey["record"]): Promise<void> {
    this.#engine.assertWritable(this.#user);
    const key = this.#engine.realm.flowKey(this.#user, name);
    const { now } = this.#engine;
    key.lastUsedMs = now.wallMs;
    this.#engine.changes.putFlowKey(this.#user, change(key));
    this.#engine.scheduler.wakeKey(key, now);
    await this.#engine.finish();
  }
}

function viewOfQueue(queue: Queue): QueueView {
  let called = 0;
  for (const message of queue.members)
    if (message.state === state.active || message.state === state.cancelRequested) called += 1;
  return { ...queue.record, lag: queue.members.size - called };
}

function viewOfSchedule({ record, body }: Schedule): ScheduleView {
  const lastStates = record.lastMessages.map(
    ({ sequence, nonce, outcome }) => [messageId(sequence, nonce), outcome ?? "IN_PROGRESS"] as const,
  );
  return { ...record, body, lastStates };
}

function viewOfKey(key: FlowKey, now: Moment): FlowKeyView {
  const windowCount = key.countAt(now.passedMs);
  // Shown by the wall clock, which may have been set since.
  const windowStartMs = key.windowStartMs === 0 ? 0 : Math.round(key.windowStartMs - driftOf(now));
  return {
    ...key.record,
    windowCount,
    windowStartMs,
    waitingCount: key.waiting.size,
    inFlightCount: key.inFlight.size,
  };
}
