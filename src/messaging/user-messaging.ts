/** Messaging of one user: calls the engine, and waits for the disk after changes. */

import type {
  AcceptedMessages,
  Filter,
  FlowKeyView,
  LoggedMessage,
  LogPage,
  LogReader,
  MessagingApi,
  Page,
  QueueView,
  ScheduleView,
  WorkflowApi,
} from "./api.ts";
import { type Body, loadUndamaged } from "./bodies/body.ts";
import { type BulkPage, cancellableMessages, deadLettersOf, deleteDeadLetters, retryDeadLetters } from "./bulk.ts";
import { parseCron } from "./cron/cron.ts";
import { newSigningKey } from "./delivery/signature.ts";
import type { Engine } from "./engine.ts";
import { badRequest, quotaExceeded } from "./failure.ts";
import type { PublishOptions, PublishOutcome, PublishRequest } from "./options/publish-request.ts";
import { type NamePage, valuesOfPage } from "./records/name-page.ts";
import type { DeadLetter } from "./state/dead-letters.ts";
import { drawId } from "./state/drawn-ids.ts";
import { type FlowKey, PERIOD_MS_DEFAULT } from "./state/flow-key.ts";
import type { Message } from "./state/message.ts";
import { messageId, parseMessageId } from "./state/message-id.ts";
import type { MessagingState } from "./state/messaging-state.ts";
import { driftOf, type Moment } from "./state/moment.ts";
import { newQueue, type Queue } from "./state/queue.ts";
import type { Schedule } from "./state/schedule.ts";
import { messageState } from "./state/states.ts";
import { type Endpoint, findGroup, isUrl, type UrlGroup } from "./state/url-group.ts";
import type { SigningKeys, User } from "./state/user.ts";
import type { UnitOfWork } from "./unit-of-work.ts";
import { UserWorkflows } from "./workflow/user-workflows.ts";

/** How long after its end a message can be looked up. */
const FINISHED_MS = 60_000;
/** Messages that are cancelled in one turn; other requests wait meanwhile. */
const CANCELS_MAX = 500;

export class UserMessaging implements MessagingApi {
  readonly #engine: Engine;
  readonly #user: User;
  readonly #log: LogReader;
  readonly workflows: WorkflowApi;

  constructor(engine: Engine, user: User, log: LogReader) {
    this.#engine = engine;
    this.workflows = new UserWorkflows(engine, user);
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
    const { outcomes, safe } = this.accept(requests);
    return safe === undefined ? outcomes : safe.then(() => outcomes);
  }

  accept(requests: readonly PublishRequest[]): AcceptedMessages {
    return this.#engine.publish(this.#user, requests);
  }

  // Messages.

  findMessage(id: string): Message | undefined {
    const parsed = parseMessageId(id);
    const message = parsed === undefined ? undefined : this.#engine.state.messages.get(parsed.sequence);
    return message?.nonce === parsed?.nonce && message?.user === this.#user ? message : undefined;
  }

  waitsFor(message: Message): string {
    return waitsFor(this.#engine.state, message, this.#engine.now);
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
    return loadUndamaged(this.#engine.state.bodies, body);
  }

  cancel(id: string): Promise<boolean> {
    return this.#change((unit) => {
      const message = this.findMessage(id);
      // Its run would wait for it permanently.
      if (message?.run?.isStarted === true)
        throw badRequest(
          `Invalid value for messageId: the message ${id} belongs to the workflow run ${message.run.id}: cancel the run`,
        );
      return message !== undefined && unit.cancel(message);
    });
  }

  retryNow(id: string): Promise<boolean> {
    return this.#change((unit) => {
      const message = this.findMessage(id);
      if (message === undefined) return false;
      if (!unit.advanceAttempt(message))
        throw badRequest(
          `Invalid value for messageId: the message ${id} is being called: wait for the end of the call`,
        );
      return true;
    });
  }

  async cancelMatching(filter: Filter, countMax?: number): Promise<number> {
    const { state } = this.#engine;
    const found = cancellableMessages(state, this.#user, { filter, countMax });
    let cancelled = 0;
    for (let from = 0; from === 0 || from < found.length; from += CANCELS_MAX) {
      await this.#change((unit) => {
        for (const message of found.slice(from, from + CANCELS_MAX)) {
          // It may have ended while the last frame was written.
          if (state.messages.get(message.sequence) === message && unit.cancel(message)) cancelled += 1;
        }
      });
    }
    return cancelled;
  }

  logs(filter: Filter, page: Page): Promise<LogPage> {
    return this.#log.list(this.#user, filter, page);
  }

  // Queues.

  get queues(): readonly QueueView[] {
    return [...this.#user.queues.values()].map(viewOfQueue);
  }

  queuePage(page: NamePage): readonly QueueView[] {
    return valuesOfPage(this.#user.queues, page).map(viewOfQueue);
  }

  queue(name: string): QueueView | undefined {
    const queue = this.#user.queues.get(name);
    return queue === undefined ? undefined : viewOfQueue(queue);
  }

  putQueue(name: string, { parallelism, isPaused }: { parallelism?: number; isPaused?: boolean }): Promise<void> {
    return this.#grow((unit) => {
      const { queuesMax, queueParallelismMax } = this.#engine.limits;
      const { queues } = this.#user;
      if (parallelism !== undefined && parallelism > queueParallelismMax) {
        throw quotaExceeded(`parallelism is ${parallelism}; the limit is ${queueParallelismMax}`);
      }
      if (!queues.has(name) && queues.size >= queuesMax)
        throw quotaExceeded(`Maximum number of queues exceeded: ${queuesMax}`);
      const nowMs = this.#engine.nowMs();
      const known = queues.get(name)?.record ?? newQueue(name, nowMs);
      const record = {
        ...known,
        parallelism: parallelism ?? known.parallelism,
        isPaused: isPaused ?? known.isPaused,
        updatedAtMs: nowMs,
      };
      unit.advance(unit.apply(this.#user, "queuePut", { record }));
    });
  }

  deleteQueue(name: string): Promise<void> {
    return this.#change((unit) => {
      const queue = this.#user.queues.get(name);
      if (queue === undefined) return;
      // Paused, so that no message starts while the messages are cancelled one by one.
      queue.record = { ...queue.record, isPaused: true };
      for (const message of [...queue.members]) if (!message.isInRun) unit.cancel(message);
      unit.apply(this.#user, "queueRemoved", { name });
      unit.leaveQueue(queue);
    });
  }

  // Schedules.

  get schedules(): readonly ScheduleView[] {
    return [...this.#user.schedules.values()].map(viewOfSchedule);
  }

  schedulePage(page: NamePage): readonly ScheduleView[] {
    return valuesOfPage(this.#user.schedules, page).map(viewOfSchedule);
  }

  schedule(id: string): ScheduleView | undefined {
    const schedule = this.#user.schedules.get(id);
    return schedule === undefined ? undefined : viewOfSchedule(schedule);
  }

  putSchedule({
    id = drawId("scd_", this.#engine.random),
    cron,
    destination,
    options,
    body,
    callerIp,
  }: Parameters<MessagingApi["putSchedule"]>[0]): Promise<string> {
    const user = this.#user;
    return this.#grow((unit) => {
      const { schedulesMax, bodyBytesMax } = this.#engine.limits;
      const known = user.schedules.get(id);
      if (body.length > bodyBytesMax)
        throw badRequest(`The body has ${body.length} bytes; the limit is ${bodyBytesMax}`);
      if (known === undefined && user.schedules.size >= schedulesMax) {
        throw quotaExceeded(`Maximum number of schedules exceeded: ${schedulesMax}`);
      }
      if (!isUrl(destination)) findGroup(user.groups, destination);
      const nowMs = this.#engine.nowMs();
      const parsed = parseCron(cron);
      const record = {
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
      };
      unit.assertFits(body.length);
      this.#engine.schedules.watch(unit.apply(user, "schedulePut", { record, body }));
      return id;
    });
  }

  deleteSchedule(id: string): Promise<boolean> {
    return this.#change((unit) => {
      if (!this.#user.schedules.has(id)) return false;
      unit.apply(this.#user, "scheduleRemoved", { id });
      return true;
    });
  }

  pauseSchedule(id: string, isPaused: boolean): Promise<boolean> {
    return this.#change((unit) => {
      if (!this.#user.schedules.has(id)) return false;
      unit.apply(this.#user, "scheduleChanged", { id, change: { isPaused } });
      return true;
    });
  }

  runSchedule(id: string): Promise<PublishOutcome | undefined> {
    return this.#grow((unit) => {
      const schedule = this.#user.schedules.get(id);
      return schedule && this.#engine.schedules.runNow(unit, this.#user, schedule);
    });
  }

  // URL groups.

  get groups(): readonly UrlGroup[] {
    return [...this.#user.groups.values()];
  }

  groupPage(page: NamePage): readonly UrlGroup[] {
    return valuesOfPage(this.#user.groups, page);
  }

  group(name: string): UrlGroup | undefined {
    return this.#user.groups.get(name);
  }

  addEndpoints(name: string, added: readonly Endpoint[]): Promise<void> {
    return this.#grow((unit) => {
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
      const times = { createdAtMs: known?.createdAtMs ?? nowMs, updatedAtMs: nowMs };
      unit.apply(this.#user, "groupPut", { group: { ...known, name, endpoints, ...times } });
    });
  }

  removeEndpoints(name: string, removed: readonly { url?: string; name?: string }[]): Promise<void> {
    return this.#change((unit) => {
      const known = this.#user.groups.get(name);
      if (known === undefined) return;
      const isRemoved = (endpoint: Endpoint): boolean =>
        removed.some(({ url, name: wanted }) => (url === undefined ? wanted === endpoint.name : url === endpoint.url));
      const endpoints = known.endpoints.filter((endpoint) => !isRemoved(endpoint));
      if (endpoints.length === 0) unit.apply(this.#user, "groupRemoved", { name });
      else this.#putGroup(unit, { ...known, endpoints });
    });
  }

  setGroupHeaders(name: string, headers: NonNullable<UrlGroup["headers"]>): Promise<boolean> {
    return this.#grow((unit) => {
      const known = this.#user.groups.get(name);
      if (known === undefined) return false;
      this.#putGroup(unit, { ...known, headers });
      return true;
    });
  }

  deleteGroup(name: string): Promise<void> {
    return this.#change((unit) => {
      if (this.#user.groups.has(name)) unit.apply(this.#user, "groupRemoved", { name });
    });
  }

  #putGroup(unit: UnitOfWork, group: UrlGroup): void {
    unit.apply(this.#user, "groupPut", { group: { ...group, updatedAtMs: this.#engine.nowMs() } });
  }

  // Dead letters.

  deadLetter(id: string): DeadLetter | undefined {
    return this.#user.deadLetters.get(id);
  }

  deadLetters(filter: Filter, page: Page): ReturnType<MessagingApi["deadLetters"]> {
    return deadLettersOf(this.#user, filter, page);
  }

  deleteDeadLetters(filter: Filter, page: BulkPage): ReturnType<MessagingApi["deleteDeadLetters"]> {
    return this.#change((unit) => deleteDeadLetters(unit, this.#user, { filter, page }));
  }

  async retryDeadLetters(
    filter: Filter,
    page: BulkPage,
    overrides: Partial<PublishOptions>,
  ): ReturnType<MessagingApi["retryDeadLetters"]> {
    this.#engine.assertWritable(this.#user);
    return retryDeadLetters(this.#engine, this.#user, { filter, page, overrides });
  }

  // Flow control.

  flowKeys(search?: string): readonly FlowKeyView[] {
    const { now } = this.#engine;
    const all = [...this.#user.flowKeys.values()];
    return all.filter(({ key }) => search === undefined || key.includes(search)).map((key) => viewOfKey(key, now));
  }

  flowKeyPage(page: NamePage): readonly FlowKeyView[] {
    const { now } = this.#engine;
    return valuesOfPage(this.#user.flowKeys, page).map((key) => viewOfKey(key, now));
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
    // A reset does not create a key.
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

  rotateSigningKeys(): Promise<SigningKeys> {
    return this.#change((unit) => {
      const { signingKeys, givenKeys: given } = this.#user;
      const keys = { current: signingKeys.next, next: newSigningKey() };
      unit.apply(this.#user, "signingKeysPut", { keys, given });
      return keys;
    });
  }

  #changeKey(name: string, change: (key: FlowKey) => FlowKey["record"]): Promise<void> {
    return this.#change((unit) => {
      const key = unit.state.flowKey(this.#user, name);
      key.lastUsedMs = unit.now.wallMs;
      unit.apply(this.#user, "flowKeyPut", { record: change(key) });
      unit.wakeKey(key);
    });
  }

  #change<Result>(work: (unit: UnitOfWork) => Result): Promise<Result> {
    return this.#engine.change(this.#user, work);
  }

  #grow<Result>(work: (unit: UnitOfWork) => Result): Promise<Result> {
    return this.#engine.grow(this.#user, work);
  }
}

function viewOfQueue(queue: Queue): QueueView {
  let called = 0;
  for (const message of queue.members)
    if (message.state === messageState.active || message.state === messageState.cancelRequested) called += 1;
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

/** Describes in one sentence, without a full stop, what an unfinished message waits for. */
function waitsFor(state: MessagingState, message: Message, now: Moment): string {
  const { list, envelope } = message;
  const { queueName, flowControl } = envelope.fields;
  if (message.state === messageState.cancelRequested) return "It is being called, and is cancelled when the call ends";
  if (message.state === messageState.active) return "It is being called";
  if (message.isTimed) {
    const what = message.state === messageState.retry ? "its next attempt" : "its time";
    return `It waits for ${what}, ${new Date(message.dueMs).toISOString()}`;
  }
  if (list === undefined) return "It waits to be written to the disk";
  const queue = state.queueOf(message);
  if (queue !== undefined && (list === queue.waiting || list === queue.held || list === queue.excess)) {
    if (queue.record.isPaused) return `It waits for the queue ${queueName} to be resumed`;
    return `It waits for its turn in the queue ${queueName}`;
  }
  const key = state.flowKeyOf(message);
  if (key !== undefined && list === key.waiting) {
    if (key.isPaused) return `It waits for the flow-control key ${flowControl?.key} to be resumed`;
    const roomMs = key.nextRoomMs(now.passedMs);
    return roomMs === undefined
      ? `It waits for the parallelism of the flow-control key ${flowControl?.key}`
      : `It waits for the rate of the flow-control key ${flowControl?.key}, until ${new Date(roomMs - driftOf(now)).toISOString()}`;
  }
  return `It waits for ${list.reason}`;
}
