/** Actions of users and operators in one life, and the answers: one action at a time, drawn at random. */
import type { Random } from "../../../src/kernel/random.ts";
import type { Filter, MessagingApi } from "../../../src/messaging/api.ts";
import { MessagingFailure } from "../../../src/messaging/failure.ts";
import { deadLetterIdText } from "../../../src/messaging/state/dead-letters.ts";
import { messageState } from "../../../src/messaging/state/states.ts";
import type { User } from "../../../src/messaging/state/user.ts";
import { REFUSED } from "./freezes.ts";
import type { Tracked } from "./ledger.ts";
import type { Life } from "./life.ts";
import { groupNames, keyNames, labelNames, queueNames, type Requests } from "./requests.ts";
import { type Feature, oneOf } from "./swarm.ts";
import { check, Violation } from "./violation.ts";

interface Action {
  /** If absent, always done. */
  readonly feature?: Feature;
  readonly weight: number;
  readonly run: (workload: Workload, api: MessagingApi, user: User) => void;
}

const CRONS = ["* * * * *", "*/5 * * * *", "@hourly", "CRON_TZ=Europe/Berlin 30 2 * * *", "@every 90s"] as const;
const NOTHING: Filter = { attributes: new Map() };

const actions: readonly Action[] = [
  { weight: 14, run: (workload, api, user) => workload.publish(api, user, 1) },
  { feature: "batches", weight: 4, run: (workload, api, user) => workload.publish(api, user, 5) },
  { feature: "URL groups", weight: 1, run: (workload, api) => workload.changeGroup(api) },
  { feature: "schedules", weight: 1, run: (workload, api, user) => workload.changeSchedule(api, user) },
  { feature: "wide queues", weight: 1, run: (workload, api, user) => workload.widen(api, user) },
  { feature: "paused queues", weight: 2, run: (workload, api) => workload.pauseQueue(api) },
  { feature: "deleted queues", weight: 1, run: (workload, api, user) => workload.deleteQueue(api, user) },
  { feature: "paused keys", weight: 2, run: (workload, api) => workload.pauseKey(api) },
  { feature: "pinned keys", weight: 1, run: (workload, api, user) => workload.pinKey(api, user) },
  { feature: "reset keys", weight: 1, run: (workload, api, user) => workload.resetKey(api, user) },
  { feature: "cancels", weight: 4, run: (workload, api, user) => workload.cancel(api, user) },
  { feature: "bulk cancels", weight: 1, run: (workload, api, user) => workload.cancelMany(api, user) },
  { feature: "early retries", weight: 3, run: (workload, api, user) => workload.retryNow(api, user) },
  { feature: "dead-letter retries", weight: 3, run: (workload, api, user) => workload.retryLetters(api, user) },
  { feature: "dead-letter deletes", weight: 1, run: (workload, api, user) => workload.deleteLetters(api, user) },
  { feature: "key rotation", weight: 1, run: (workload, api) => workload.ask(() => api.rotateSigningKeys()) },
  { feature: "moving users", weight: 0.5, run: (workload, _door, { name }) => workload.freeze(name) },
  { feature: "dropped users", weight: 0.2, run: (workload, _door, user) => workload.dropUser(user) },
];

const refusedRequests: readonly ((api: MessagingApi, requests: Requests) => () => Promise<unknown>)[] = [
  (api, requests) => async () => api.publish([requests.draw([])]),
  (api, requests) => async () => api.addEndpoints("group", [{ url: requests.url() }]),
  (api) => async () => api.putQueue("first", { isPaused: true }),
  (api) => async () => api.pauseFlowKey("left", true),
  (api) => async () => api.rotateSigningKeys(),
];

export class Workload {
  readonly #life: Life;
  readonly #random: Random;
  readonly #requests: Requests;

  constructor(life: Life, random: Random, requests: Requests) {
    this.#life = life;
    this.#random = random;
    this.#requests = requests;
  }

  act(): void {
    const { features, userNames } = this.#life.model.swarm;
    const name = oneOf(this.#random, userNames);
    const api = this.#life.messaging.user(name);
    const user = this.#life.messaging.engine.state.findUser(name);
    if (api === undefined || user === undefined) {
      this.ask(() => this.#life.messaging.createUser(name));
      return;
    }
    if (this.#life.model.freezes.isMoving(user.number)) {
      this.actOnMoving(api, user);
      return;
    }
    const possible = actions.filter(({ feature }) => feature === undefined || features.has(feature));
    let left = this.#random.unit() * possible.reduce((sum, { weight }) => sum + weight, 0);
    const action = possible.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    action?.run(this, api, user);
  }

  /**
   * Sends a request that leaves one frame or none, which is durable when the answer comes. An answer that nothing has changed
   * (`changes`) promises nothing: frames that the engine writes within the call, when a disk has space again, are not its own.
   */
  ask<Result>(
    work: () => Promise<Result>,
    told: (result: Result) => void = () => {},
    changes: (result: Result) => boolean = () => true,
  ): void {
    const life = this.#life;
    const { refusal, nextPosition } = life;
    const answer = work();
    const hasChanged = life.position >= nextPosition;
    answer.then(
      (result) => {
        if (life.isDead) return;
        life.guard(() => {
          if (hasChanged && changes(result)) life.model.ledger.acknowledge(nextPosition);
          told(result);
        });
      },
      (fault: unknown) => {
        if (fault instanceof MessagingFailure) {
          if (fault.kind === "not found" || (fault.kind === "unavailable" && (refusal ?? life.refusal))) return;
          // A request that has read a body from the disk meanwhile.
          if (fault.text === REFUSED && life.model.freezes.names.size > 0) return;
          life.fail(new Violation(`${fault.kind}: ${fault.text}`));
        } else life.fail(fault);
      },
    );
  }

  publish(api: MessagingApi, user: User, countMax: number): void {
    const { model, clock, nextPosition: position, refusal } = this.#life;
    const { ledger, duplicates, swarm } = model;
    const groups = api.groups.map(({ name }) => name);
    const count = 1 + this.#random.below(countMax);
    const requests = Array.from({ length: count }, () => this.#requests.draw(groups));
    if (refusal !== undefined) {
      this.ask(() => api.publish(requests));
      return;
    }
    const urlsOf = (name: string): readonly string[] => api.group(name)?.endpoints.map(({ url }) => url) ?? [];
    const isCompared = !swarm.features.has("clock steps");
    const wanted = isCompared
      ? duplicates.expect(user.number, requests, { nowMs: clock.nowMs(), position, urlsOf })
      : [];
    this.ask(
      () => {
        const answer = api.publish(requests);
        if (isCompared) {
          const accepted = [...ledger.messages.values()].filter((message) => message.position === position);
          this.#life.guard(() =>
            duplicates.accepted(
              wanted,
              accepted.map(({ id }) => id),
            ),
          );
        }
        return answer;
      },
      (outcomes) => {
        if (isCompared) duplicates.answered(wanted, outcomes);
        for (const outcome of outcomes) {
          const all = outcome.kind === "url" ? [outcome.published] : outcome.published;
          for (const { messageId } of all) ledger.acknowledgeMessage(messageId);
        }
      },
    );
  }

  changeGroup(api: MessagingApi): void {
    const name = oneOf(this.#random, groupNames);
    const endpoint = { url: this.#requests.url(), ...(this.#random.below(2) === 0 && { name: "named" }) };
    if (this.#random.below(4) > 0) this.ask(() => api.addEndpoints(name, [endpoint]));
    else if (this.#random.below(2) === 0) this.ask(() => api.removeEndpoints(name, [endpoint]));
    else this.ask(() => api.setGroupHeaders(name, [["X-Group", ["1", "2"]]]));
  }

  changeSchedule(api: MessagingApi, user: User): void {
    const id = oneOf(this.#random, ["early", "late"]);
    const chance = this.#random.below(8);
    if (chance === 0) this.ask(() => api.deleteSchedule(id));
    else if (chance < 3) this.ask(() => api.pauseSchedule(id, chance === 1));
    else {
      const { deduplicationId: _none, ...options } = this.#requests.options();
      const [group] = api.groups;
      const isToGroup = group !== undefined && this.#random.below(3) === 0;
      const destination = isToGroup ? group.name : this.#requests.url();
      const facts = { destination, options, body: this.#requests.body(), callerIp: "" };
      this.#life.model.firings.put(user.number, id);
      this.ask(() => api.putSchedule({ id, cron: oneOf(this.#random, CRONS), ...facts }));
    }
  }

  widen(api: MessagingApi, user: User): void {
    const parallelism = 1 + this.#random.below(4);
    // Noted before the call, because messages may start within it.
    this.#life.model.admission.widened(user.number, "wide", parallelism);
    this.ask(() => api.putQueue("wide", { parallelism }));
  }

  pauseQueue(api: MessagingApi): void {
    const isPaused = this.#random.below(2) === 0;
    this.ask(() => api.putQueue(oneOf(this.#random, queueNames), { isPaused }));
  }

  deleteQueue(api: MessagingApi, user: User): void {
    const name = oneOf(this.#random, queueNames);
    const { refusal, model } = this.#life;
    this.ask(() => api.deleteQueue(name));
    if (refusal !== undefined) return;
    for (const message of model.ledger.unfinished) {
      const { queueName, holdsQueue } = message.fields;
      const isOfQueue = queueName === name || holdsQueue === name;
      if (message.user === user.number && isOfQueue) model.ledger.detach(message, this.#life.position);
    }
  }

  pauseKey(api: MessagingApi): void {
    const isPaused = this.#random.below(2) === 0;
    this.ask(() => api.pauseFlowKey(oneOf(this.#random, keyNames), isPaused));
  }

  pinKey(api: MessagingApi, user: User): void {
    const key = oneOf(this.#random, keyNames);
    const random = this.#random;
    if (random.below(3) === 0) {
      this.ask(() => api.unpinFlowKey(key, { parallelism: random.below(2) === 0, rate: true }));
      return;
    }
    const withRate = random.below(2) === 0;
    if (withRate) this.#noteReset(user, key, false);
    const pin = { parallelism: 1 + random.below(3), ...(withRate && { rate: 1 + random.below(3), periodMs: 5_000 }) };
    this.ask(() => api.pinFlowKey(key, pin));
  }

  resetKey(api: MessagingApi, user: User): void {
    const key = oneOf(this.#random, keyNames);
    const isWhole = this.#random.below(2) === 0;
    if (user.flowKeys.has(key)) this.#noteReset(user, key, isWhole);
    this.ask(() => api.resetFlowKey(key, isWhole));
  }

  /** Noted before the call, because messages may start within it. */
  #noteReset(user: User, key: string, isWhole: boolean): void {
    const { refusal, nextPosition: position, model } = this.#life;
    if (refusal === undefined) model.admission.reset(user.number, key, { position, isWhole });
  }

  cancel(api: MessagingApi, user: User): void {
    const { ledger } = this.#life.model;
    const ofUser = [...ledger.messages.values()].filter((message) => message.user === user.number);
    if (ofUser.length === 0) return;
    const unfinished = ofUser.filter((message) => !ledger.isFinished(message));
    const message = oneOf(this.#random, unfinished.length > 0 && this.#random.below(8) > 0 ? unfinished : ofUser);
    const isCancellable = isToBeCancelled(message) && !ledger.isFinished(message);
    this.ask(
      () => api.cancel(message.id),
      (isCancelled) => {
        check(isCancelled === isCancellable, () => `Cancel of ${message.sequence}: ${ledger.history(message)}`);
      },
      (isCancelled) => isCancelled,
    );
  }

  /** Noted before the call, because the message may start within it. */
  retryNow(api: MessagingApi, user: User): void {
    const { refusal, nextPosition, model } = this.#life;
    const { ledger } = model;
    const waiting = ledger.unfinished.filter(
      (message) => message.user === user.number && !ledger.inFlight.has(message.sequence) && isToBeCancelled(message),
    );
    if (waiting.length === 0) return;
    const message = oneOf(this.#random, waiting);
    if (refusal === undefined) message.retriedNowAt.push(nextPosition);
    this.ask(
      () => api.retryNow(message.id),
      (isKnown) => check(isKnown, () => `Message ${message.sequence} waits, but cannot be retried`),
    );
  }

  cancelMany(api: MessagingApi, user: User): void {
    const { ledger } = this.#life.model;
    const attributes = this.#random.below(3) === 0 ? NOTHING.attributes : this.#drawFilter().attributes;
    const countMax = this.#random.below(3) === 0 ? 2 : undefined;
    const before = ledger.unfinished.filter((message) => message.user === user.number && isToBeCancelled(message));
    this.ask(
      () => {
        const answer = api.cancelMatching({ attributes }, countMax);
        const count = before.filter((message) => !isToBeCancelled(message)).length;
        return answer.then((told) => ({ told, count }));
      },
      ({ told, count }) => check(told === count, () => `${count} messages are cancelled, but ${told} are reported`),
      ({ told }) => told > 0,
    );
  }

  #drawFilter(): Filter {
    const random = this.#random;
    return random.below(2) === 0
      ? { attributes: new Map([["label", [oneOf(random, labelNames)]]]) }
      : { attributes: new Map([["queueName", [oneOf(random, queueNames)]]]) };
  }

  retryLetters(api: MessagingApi, user: User): void {
    const filter = this.#drawLetters(user);
    if (filter === undefined) return;
    const { ledger } = this.#life.model;
    const overrides = this.#random.below(3) === 0 ? { retriesMax: 1 } : {};
    this.ask(
      () => api.retryDeadLetters(filter, {}, overrides),
      ({ published }) => {
        for (const { messageId } of published) ledger.acknowledgeMessage(messageId);
      },
      ({ published }) => published.length > 0,
    );
  }

  deleteLetters(api: MessagingApi, user: User): void {
    const filter = this.#drawLetters(user);
    if (filter === undefined) return;
    this.ask(
      () => api.deleteDeadLetters(filter, {}),
      () => {},
      ({ deleted }) => deleted > 0,
    );
  }

  /** One dead letter, or all with a label. */
  #drawLetters(user: User): Filter | undefined {
    const letters = [...user.deadLetters.values()];
    if (letters.length === 0) return undefined;
    const isOne = this.#random.below(2) === 0;
    const label = oneOf(this.#random, labelNames);
    const letter = oneOf(this.#random, letters);
    const taken = isOne ? [letter] : letters.filter(({ envelope }) => envelope.fields.labels?.includes(label));
    for (const { sequence } of taken) this.#life.model.ledger.take(sequence);
    return isOne
      ? { ids: [deadLetterIdText(letter.id)], attributes: new Map() }
      : { attributes: new Map([["label", [label]]]) };
  }

  freeze(name: string): void {
    this.#life.freeze(name);
  }

  /** The move is undone now and then; until then each request that would change something is refused. */
  actOnMoving(api: MessagingApi, user: User): void {
    const { features } = this.#life.model.swarm;
    const chance = this.#random.below(16);
    if (chance < 6) this.#life.thaw(user);
    else if (chance === 6 && features.has("dropped users")) this.dropUser(user);
    else this.#askInVain(oneOf(this.#random, refusedRequests)(api, this.#requests));
  }

  #askInVain(work: () => Promise<unknown>): void {
    const life = this.#life;
    const { position } = life;
    const answer = work();
    life.guard(() => check(life.position === position, () => "A request of a user that moves has changed something"));
    answer.then(
      () => life.fail(new Violation("A request of a user that moves was accepted")),
      (fault: unknown) => {
        if (!(fault instanceof MessagingFailure)) life.fail(fault);
        else if (fault.kind !== "unavailable" || fault.text !== REFUSED)
          life.fail(new Violation(`A request of a user that moves was answered: ${fault.kind}: ${fault.text}`));
      },
    );
  }

  dropUser(user: User): void {
    const { refusal, messaging, model } = this.#life;
    if (refusal !== undefined) return;
    model.freezes.end(user);
    this.ask(() => messaging.dropUser(user.name));
  }
}

function isToBeCancelled({ entries }: Tracked): boolean {
  const last = entries.at(-1)?.state;
  return last === messageState.created || last === messageState.active || last === messageState.retry;
}
