/** Opens a listener of the edge for this thread: its figures, its limits, and a sentence when the port cannot be had. */
import type { ByteBudget } from "../edge/byte-budget.ts";
import type { Area, Observation } from "../edge/handler.ts";
import { type CertificatePair, type Listener, listen } from "../edge/node-http.ts";
import type { Tracer } from "../edge/tracing.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Counter, Histogram, Metrics } from "../kernel/metrics.ts";
import { secretBytes } from "../kernel/random.ts";
import type { ListenPlan } from "./area.ts";
import { listenRefusal } from "./refusal.ts";

export interface ListenerSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  /** Bodies of all listeners of this thread together. */
  readonly budget: ByteBudget;
  /** Absent: no spans are made. */
  readonly tracer?: Tracer | undefined;
}

export interface ListenerWishes {
  readonly listen: ListenPlan;
  readonly headerBytesMax: number;
  /** Names the listener in the ids of its requests. */
  readonly name: string;
  readonly observe: (observation: Observation) => void;
}

/** Rejects with a `StartRefusal` when the operator has to choose another port or address. */
export async function openListener(
  area: Area,
  { listen: plan, headerBytesMax, name, observe }: ListenerWishes,
  surroundings: ListenerSurroundings,
): Promise<Listener> {
  // Loaded only where it is used.
  const certificates = plan.tls === undefined ? undefined : await import("./certificate.ts");
  const pair = plan.tls && certificates?.readCertificate(plan.tls);
  let listener: Listener;
  try {
    listener = await listen({
      area,
      host: plan.host,
      port: plan.port,
      // A letter of the listener and a few of this start.
      idPrefix: `${name.charAt(0)}${secretBytes(4).toString("hex")}`,
      limits: { headerBytesMax },
      observe,
      tls: pair,
      ...surroundings,
    });
  } catch (fault) {
    throw listenRefusal(fault, plan);
  }
  if (plan.tls === undefined || certificates === undefined) return listener;
  const renew = (fresh: CertificatePair): void => listener.renewCertificate(fresh);
  const stop = certificates.followCertificate(plan.tls, { ...surroundings, renew });
  const close = listener.close.bind(listener);
  listener.close = (graceMs) => {
    stop();
    return close(graceMs);
  };
  return listener;
}

interface RouteFigures {
  readonly duration: Histogram;
  /** By status. */
  readonly counters: Map<number, Counter>;
}

/** Counts requests: how many by route and status, how long they took by route, how many bytes went by. */
export function requestObserver(metrics: Metrics): (observation: Observation) => void {
  const requests = metrics.counter("larder_http_requests_total", "Requests answered, by route and status", [
    "route",
    "status",
  ]);
  const durations = metrics.histogram(
    "larder_http_request_duration_seconds",
    "From the last byte of a request to its reply, by route",
    { labelNames: ["route"] },
  );
  const received = metrics.counter("larder_http_received_bytes_total", "Bytes of request bodies").with();
  const sent = metrics.counter("larder_http_sent_bytes_total", "Bytes of reply bodies").with();
  const figuresByRoute = new Map<string, RouteFigures>();
  return ({ route, status, durationMs, bytesIn, bytesOut }) => {
    let figures = figuresByRoute.get(route);
    if (figures === undefined) {
      figures = { duration: durations.with(route), counters: new Map() };
      figuresByRoute.set(route, figures);
    }
    let counter = figures.counters.get(status);
    if (counter === undefined) {
      counter = requests.with(route, String(status));
      figures.counters.set(status, counter);
    }
    counter.add();
    figures.duration.observe(durationMs / 1_000);
    received.add(bytesIn);
    sent.add(bytesOut);
  };
}
