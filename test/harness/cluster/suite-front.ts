/**
 * A node that owns nothing, between the clients of a suite and the node that has its area: two listeners over real
 * sockets, and between them what a node uses to forward requests. So each request of a suite takes the way that it
 * takes in a cluster, and its answer must be the same.
 */
import { Front } from "../../../src/edge/forward/front.ts";
import { innerService } from "../../../src/edge/forward/inner-service.ts";
import { LinkSender } from "../../../src/edge/forward/link/sender.ts";
import { withLinks } from "../../../src/edge/forward/link/transport.ts";
import { type Listener, type ListenerOptions, listen } from "../../../src/edge/http/listener.ts";
import { type NamedKey, SharedKeys } from "../../../src/edge/http/shared-key.ts";
import { ByteBudget } from "../../../src/edge/limits/byte-budget.ts";
import { defaultLimits } from "../../../src/edge/limits/listener.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { suiteSetting } from "./suite-setting.ts";

const KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(7) };
/** For the header of a forwarded request, as a node has it. */
const FORWARDED_BYTES_MAX = 1_024;
const WAIT_MS = 10_000;

export interface SuiteListenerOptions extends ListenerOptions {
  /** Of the area, for texts. */
  readonly name: string;
  /** Bytes in flight of the node that clients connect to, if that is not the owner; `budget` is that of the owner. */
  readonly frontBytesMax: number;
}

/** The listener of a suite, as `listen`; in the setting with a front that of the front. */
export function listenForSuite({ name, frontBytesMax, ...options }: SuiteListenerOptions): Promise<Listener> {
  return suiteSetting()?.asks === "front" ? listenThroughFront({ name, frontBytesMax, ...options }) : listen(options);
}

async function listenThroughFront({ name, frontBytesMax, ...options }: SuiteListenerOptions): Promise<Listener> {
  const { area, limits, clock, log, idPrefix, transport, observe, onRefusal, tracer } = options;
  const { headerBytesMax = defaultLimits.headerBytesMax } = limits ?? {};
  const owner = await listen({
    area: innerService({ area: name, service: area, serving: () => area }),
    tls: new SharedKeys([KEY]),
    besideHttp1: withLinks(log),
    ...{ host: "127.0.0.1", port: 0, clock, log, budget: options.budget, idPrefix, transport },
    // The limits of clients are those of the front.
    limits: { headerBytesMax: headerBytesMax + FORWARDED_BYTES_MAX, bodyBytesPerSecondMin: undefined },
    ...(observe !== undefined && { observe }),
    ...{ onRefusal, tracer },
  });
  const sender = new LinkSender({ key: KEY, clock: systemClock, log });
  const front = new Front({ area: name, service: area, sender, clock: systemClock, waitMs: WAIT_MS });
  front.follow({ kind: "node", at: { node: "owner", host: owner.host, port: owner.port } });
  const listener = await listen({
    ...options,
    area: front,
    budget: new ByteBudget(frontBytesMax),
    idPrefix: `${idPrefix}-front`,
    // The owner has observed what was forwarded.
    observe: (observation) => {
      if (observation.route !== "forwarded") observe?.(observation);
    },
  });
  return {
    host: listener.host,
    port: listener.port,
    get openRequestCount() {
      return listener.openRequestCount;
    },
    renewCertificate: (pair) => listener.renewCertificate(pair),
    async close(graceMs) {
      // As a node that stops: the owner ends its streams, and those of the front's clients end with them.
      await Promise.all([listener.close(graceMs), owner.close(graceMs)]);
      await front.close(0);
    },
  };
}
