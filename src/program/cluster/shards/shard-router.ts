/**
 * Finds the shard of a request, by the tenant of its token, before an engine sees
 * it.
 *
 * (1) The tokens of the configuration, and of tenants that were made at run time,
 *     are known on every node, so the shard of their tenants is too.
 * (2) Tokens that users of a database have made are known to the engine of its
 *     shard alone. A token that no engine of this thread knows is taken to each other
 *     thread and to each other node in turn, until one does not refuse it with 401.
 * (3) A path that needs no token names users, who may be on several shards: each is
 *     tried until one does not answer 404. Nothing was carried out before.
 */

import { type TokenOwner, TokenTable } from "../../../edge/auth.ts";
import type { RequestFailure } from "../../../edge/errors.ts";
import type { AreaOwner } from "../../../edge/forward/front.ts";
import type { HttpReply, HttpRequest, HttpService, HttpStream, RequestHead } from "../../../edge/handler.ts";
import { abandonedReply, refusalOf } from "../../../edge/respond.ts";
import { secretBytes } from "../../../kernel/random.ts";
import type { AreaPlan } from "../../areas/area.ts";
import type { AreaTenant } from "../../areas/area-tenant.ts";
import type { AreaService } from "../../services/service.ts";
import { userIdOf } from "../../tenants/tokens.ts";

const TOKEN_KEY_BYTES = 32;
const UNAUTHORIZED = 401;
const NOT_FOUND = 404;

/** A shard as far as a router needs it. */
export interface RoutedShard {
  readonly number: number;
  readonly plan: Pick<AreaPlan, "tenants">;
  /** Where its requests go. */
  readonly http: HttpService;
  /** Its engine, while this node serves it. */
  readonly serving: HttpService | undefined;
  /** The other thread of this node that hosts it; absent: this thread does. */
  readonly thread?: number;
  readonly owner: AreaOwner;
  /** Its engine, opened or not. */
  readonly parts: { readonly service: Pick<AreaService, "http" | "resp"> };
}

/** Where a request may belong. The first shard that does not answer `miss` carries it out. */
interface Places {
  readonly shards: readonly RoutedShard[];
  readonly miss: number;
}

export class ShardRouter implements HttpService {
  /** Of all tenants of the configuration, and those made at run time. */
  readonly tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
  readonly #shards: readonly RoutedShard[];
  readonly #byTenant = new Map<string, RoutedShard>();
  /** The tenants whose tokens have a `UserID`. */
  readonly #byUserId = new Map<string, Set<string>>();

  constructor(shards: readonly RoutedShard[]) {
    this.#shards = shards;
    for (const shard of shards) for (const tenant of shard.plan.tenants) this.setTenant(shard, tenant);
  }

  /** The tenants whose tokens are known. */
  get tenantNames(): readonly string[] {
    return [...this.#byTenant.keys()];
  }

  /** The shard of a tenant whose tokens are known. */
  findShard(tenant: string): RoutedShard | undefined {
    return this.#byTenant.get(tenant);
  }

  setTenant(shard: RoutedShard, { name, tokens }: AreaTenant): void {
    this.tokens.replaceTenant(name, tokens);
    this.#forgetUserIds(name);
    this.#byTenant.set(name, shard);
    for (const { token } of tokens) {
      const id = userIdOf(token);
      this.#byUserId.set(id, (this.#byUserId.get(id) ?? new Set()).add(name));
    }
  }

  removeTenant(name: string): void {
    this.tokens.removeTenant(name);
    this.#forgetUserIds(name);
    this.#byTenant.delete(name);
  }

  #forgetUserIds(name: string): void {
    for (const [id, names] of this.#byUserId) if (names.delete(name) && names.size === 0) this.#byUserId.delete(id);
  }

  readonly handle = (request: HttpRequest): ReturnType<HttpService["handle"]> => {
    const { shards, miss } = this.#placesOf(request);
    const [first] = shards;
    if (first === undefined) throw new Error("A request has no shard");
    if (shards.length === 1) return first.http.handle(request);
    return tryEach(
      request,
      shards.map(({ http }) => http),
      miss,
    );
  };

  bodyBytesMax(target: string): number {
    return this.#area.bodyBytesMax(target);
  }

  refuseEarly(head: RequestHead): HttpReply | undefined {
    return this.#placesOf(head).shards[0]?.http.refuseEarly?.(head);
  }

  refusal(failure: RequestFailure, target: string): HttpReply {
    return refusalOf(this.#area, failure, target);
  }

  /** The engine for a request that another node has forwarded; undefined: this node serves no shard of it. */
  servingFor(head: RequestHead): HttpService | undefined {
    const { shards, miss } = this.#placesOf(head, { isForwarded: true });
    const served = shards.map(({ serving }) => serving).filter((serving) => serving !== undefined);
    const [first] = served;
    if (first === undefined || served.length === 1) return first;
    return { ...withForms(first), handle: (request) => tryEach(request, served, miss) };
  }

  /** Where a request belongs that waits for a shard, if its tenant has moved to another one since. */
  elsewhere(shard: number, head: RequestHead): HttpService | undefined {
    const owner = this.#first.parts.service.http.tokenOwner(head, this.tokens);
    const found = owner.kind === "tenant" ? this.#byTenant.get(owner.name) : undefined;
    return found === undefined || found.number === shard ? undefined : found.http;
  }

  /** Its limits and forms of errors are those of all shards. */
  get #area(): HttpService {
    return this.#first.parts.service.http;
  }

  get #first(): RoutedShard {
    return this.#shards[0] as RoutedShard;
  }

  #placesOf(head: RequestHead, { isForwarded = false } = {}): Places {
    const { http } = this.#first.parts.service;
    const userId = http.userIdIn?.(head.target);
    if (userId !== undefined) return { shards: this.#shardsOfUser(userId), miss: NOT_FOUND };
    const owner = http.tokenOwner(head, this.tokens);
    return { shards: this.#shardsOf(head, owner, isForwarded), miss: UNAUTHORIZED };
  }

  /** keeps (1) and (2) */
  #shardsOf(head: RequestHead, owner: TokenOwner, isForwarded: boolean): readonly RoutedShard[] {
    if (owner.kind === "tenant") {
      const shard = this.#byTenant.get(owner.name);
      if (shard !== undefined) return [shard];
    }
    const allServed = this.#shards.filter(({ serving }) => serving !== undefined);
    const served = allServed.filter(({ thread }) => thread === undefined);
    const [refusing = this.#first] = [...served, ...allServed];
    if (owner.kind === "none" || this.#first.parts.service.resp === undefined) return [refusing];
    const knowing = served.find(({ parts: { service } }) => {
      const { tokens } = service.resp ?? {};
      return tokens !== undefined && service.http.tokenOwner(head, tokens).kind === "tenant";
    });
    if (knowing !== undefined) return [knowing];
    const elsewhere = [...firstOfEachThread(allServed), ...(isForwarded ? [] : this.#ofOtherNodes())];
    return elsewhere.length > 0 ? elsewhere : [refusing];
  }

  /** One shard of each other node, and those that no node serves. */
  #ofOtherNodes(): readonly RoutedShard[] {
    const byNode = new Map<string, RoutedShard>();
    for (const shard of this.#shards) {
      if (shard.serving !== undefined) continue;
      const { owner } = shard;
      byNode.set(owner.kind === "node" ? `node ${owner.at.node}` : `shard ${shard.number}`, shard);
    }
    return [...byNode.values()];
  }

  /** keeps (3) */
  #shardsOfUser(userId: string): readonly RoutedShard[] {
    const names = [...(this.#byUserId.get(userId) ?? [])];
    const shards = new Set(names.map((name) => this.#byTenant.get(name)).filter((shard) => shard !== undefined));
    return shards.size === 0 ? [this.#shards.find(({ serving }) => serving !== undefined) ?? this.#first] : [...shards];
  }
}

/** One shard of each other thread of this node that serves any. */
function firstOfEachThread(served: readonly RoutedShard[]): readonly RoutedShard[] {
  const byThread = new Map<number, RoutedShard>();
  for (const shard of served)
    if (shard.thread !== undefined && !byThread.has(shard.thread)) byThread.set(shard.thread, shard);
  return [...byThread.values()];
}

function withForms(area: HttpService): Omit<HttpService, "handle"> {
  return {
    bodyBytesMax: (target) => area.bodyBytesMax(target),
    refuseEarly: (head) => area.refuseEarly?.(head),
    refusal: (failure, target) => refusalOf(area, failure, target),
  };
}

async function tryEach(
  request: HttpRequest,
  services: readonly HttpService[],
  miss: number,
): Promise<HttpReply | HttpStream> {
  let last: HttpReply | HttpStream = abandonedReply;
  for (const service of services) {
    if (request.isAbandoned === true) return abandonedReply;
    last = await service.handle(request);
    if (last.status !== miss) return last;
  }
  return last;
}
