/**
 * A shard that another thread of the node hosts, on the side of the front.
 *
 * (1) While that thread serves it, requests go there; otherwise to its owner, or
 *     they are refused as by a node that does not serve it.
 * (2) A request that comes too late, because the shard was released meanwhile,
 *     goes on to its next owner. One that another node has forwarded is refused
 *     with 421, since it is never forwarded twice.
 */
import { answerLost, notOwner, type RequestFailure } from "../../../../edge/errors.ts";
import { type AreaOwner, Front, type Sender } from "../../../../edge/forward/front.ts";
import type { HttpReply, HttpRequest, HttpService, HttpStream } from "../../../../edge/handler.ts";
import { refusalOf } from "../../../../edge/respond.ts";
import { systemClock } from "../../../../kernel/clock.ts";
import type { AreaPlan } from "../../../areas/area.ts";
import type { AreaService } from "../../../services/service.ts";
import type { HostedState } from "../hosted-shard.ts";
import type { RoutedShard } from "../shard-router.ts";
import type { ThreadClient } from "./thread-client.ts";

export interface ThreadShardOptions {
  readonly number: number;
  readonly plan: AreaPlan;
  /** The thread that hosts it. */
  readonly thread: number;
  readonly client: Pick<ThreadClient, "send">;
  /** Undefined: this node does not take part in forwarding. */
  readonly front: Front | undefined;
  /** The limits and forms of errors of the area. */
  readonly http: AreaService["http"];
}

const NOBODY: AreaOwner = { kind: "nobody" };
const UNREACHABLE: AreaOwner = { kind: "unreachable" };

export class ThreadShard implements RoutedShard {
  readonly number: number;
  readonly plan: AreaPlan;
  readonly thread: number;
  readonly http: Front;
  readonly parts: RoutedShard["parts"];
  /** Who else serves it, as far as this node knows. */
  owner: AreaOwner = NOBODY;
  readonly #options: ThreadShardOptions;
  readonly #front: Front;
  #isServed = false;

  constructor(options: ThreadShardOptions) {
    const { number, plan, thread, front, http } = options;
    this.#options = options;
    this.number = number;
    this.plan = plan;
    this.thread = thread;
    this.parts = { service: { http } };
    this.#front = front ?? frontToNobody(plan, http);
    this.http = this.#front;
  }

  /** Its engine, for a request that was forwarded to this node; undefined while its thread does not serve it. */
  get serving(): HttpService | undefined {
    return this.#isServed ? this.#forForwarded : undefined;
  }

  follow(owner: AreaOwner): void {
    this.owner = owner;
    this.#front.follow(owner);
  }

  /** Its thread has reported its state. keeps (1) */
  became(state: HostedState): void {
    this.#isServed = state === "serving";
    this.#front.serve(this.#isServed ? this.#forClients : undefined);
    // Without forwarding its clients learn from the status whether it is about to be served.
    if (this.#options.front === undefined) this.#front.follow(state === "opening" ? NOBODY : UNREACHABLE);
  }

  readonly #forClients: HttpService = {
    handle: (request) =>
      this.#handle(request, () => (this.#isServed ? this.#notServed(request) : this.http.handle(request))),
    bodyBytesMax: (target) => this.#options.http.bodyBytesMax(target),
    refusal: (failure, target) => refusalOf(this.#options.http, failure, target),
  };

  readonly #forForwarded: HttpService = {
    handle: (request) => this.#handle(request, () => this.#notServed(request)),
    bodyBytesMax: (target) => this.#options.http.bodyBytesMax(target),
    // As the front: the tenant is known to the other thread, so the bytes count for the address of the client.
    refuseEarly: (head) => this.#front.refuseEarly(head),
    refusal: (failure, target) => refusalOf(this.#options.http, failure, target),
  };

  /** `late` answers a request that its thread did not carry out. keeps (2) */
  async #handle(
    request: HttpRequest,
    late: () => HttpReply | HttpStream | Promise<HttpReply | HttpStream>,
  ): Promise<HttpReply | HttpStream> {
    const outcome = await this.#options.client.send(request);
    if (outcome.kind === "answered") return outcome.reply;
    return outcome.kind === "lost" ? this.#worded(answerLost(this.plan.area), request.target) : late();
  }

  #notServed(request: HttpRequest): HttpReply {
    return { ...this.#worded(notOwner(this.plan.area), request.target), route: "not executed" };
  }

  #worded(failure: RequestFailure, target: string): HttpReply {
    return refusalOf(this.#options.http, failure, target);
  }
}

/** Refuses the requests for a shard that this node does not serve. */
function frontToNobody({ area }: AreaPlan, service: HttpService): Front {
  const front = new Front({ area, service, sender: noSender, clock: systemClock, waitMs: 0 });
  front.follow(UNREACHABLE);
  return front;
}

/** Of a node that does not take part in forwarding. */
const noSender: Sender = {
  send: async () => ({ kind: "not executed" }),
  probe: async () => false,
  openTunnel: async () => undefined,
  follow: () => {},
  close: async () => {},
};
