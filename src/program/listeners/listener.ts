/** Opens a listener of the edge for this thread, with metrics and limits; a sentence reports an unavailable port. */

import type { HttpService, Observation } from "../../edge/handler.ts";
import type { TransportChoice } from "../../edge/http/choose-transport.ts";
import { type Listener, listen } from "../../edge/http/listener.ts";
import type { SharedKeys } from "../../edge/http/shared-key.ts";
import type { CertificatePair, OnTunnel } from "../../edge/http/transport.ts";
import { TrustedProxies } from "../../edge/http/trusted-proxies.ts";
import type { ByteBudget } from "../../edge/limits/byte-budget.ts";
import { type ConnectionRefusal, connectionRefusals } from "../../edge/limits/connection-gate.ts";
import { defaultLimits } from "../../edge/limits/listener.ts";
import type { Tracer } from "../../edge/tracing.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { Counter, Gauge, Histogram, Metrics } from "../../kernel/metrics.ts";
import { secretBytes } from "../../kernel/random.ts";
import type { ListenPlan, PeerLimits } from "../areas/area.ts";
import type { EventReporter } from "../events/reporter.ts";
import { refusalWatcher } from "../events/watchers.ts";
import { listenRefusal } from "../refusal.ts";
import { descriptorsForConnections } from "./descriptors.ts";

export interface ListenerEnvironment {
  readonly clock: Clock;
  readonly log: Log;
  /** Bodies of all listeners of this thread together. */
  readonly budget: ByteBudget;
  /** Of all listeners of this thread's area. */
  readonly figures: ListenerFigures;
  /** Absent: nobody watches. */
  readonly events?: EventReporter | undefined;
  /** Absent: no spans are made. */
  readonly tracer?: Tracer | undefined;
}

export interface ListenerOptions {
  readonly listen: ListenPlan;
  readonly headerBytesMax: number;
  readonly peers: PeerLimits;
  /** Names the listener in the ids of its requests. */
  readonly name: string;
  /** It answers even if the process has too few descriptors. */
  readonly isReserved?: boolean;
  /** Peers must show one of these keys, instead of asking for a certificate. */
  readonly keys?: SharedKeys;
  readonly onHandshakeFailed?: (remoteAddress: string) => void;
  /** Takes the connections of CONNECT requests, at most so many beside the others; absent: they are refused. */
  readonly onTunnel?: OnTunnel;
  readonly tunnelsMax?: number;
  /** Adds a protocol to HTTP/1. */
  readonly besideHttp1?: TransportChoice["besideHttp1"];
}

/** Rejects with a `StartRefusal` if the operator has to choose another port or address. */
export async function openListener(
  area: HttpService,
  {
    listen: plan,
    headerBytesMax,
    peers,
    name,
    isReserved = false,
    keys,
    onHandshakeFailed,
    onTunnel,
    tunnelsMax = 0,
    besideHttp1,
  }: ListenerOptions,
  environment: ListenerEnvironment,
): Promise<Listener> {
  const { figures } = environment;
  // Loaded only where it is used.
  const certificates = plan.tls === undefined ? undefined : await import("./certificate.ts");
  const pair = plan.tls && certificates?.readCertificate(plan.tls);
  let listener: Listener;
  try {
    listener = await listen({
      area,
      host: plan.host,
      port: plan.port,
      // A letter of the listener, and a few letters of this start.
      idPrefix: `${name.charAt(0)}${secretBytes(4).toString("hex")}`,
      limits: {
        headerBytesMax,
        bodyBytesPerSecondMin: peers.bodyBytesPerSecondMin,
        connectionsMax: defaultLimits.connectionsMax + tunnelsMax,
        connectionsPerAddressMax: peers.connectionsPerAddressMax,
        descriptorsMax: isReserved ? undefined : descriptorsForConnections(),
      },
      proxies: new TrustedProxies(peers.trustedProxies),
      observe: figures.observe,
      onTunnel,
      onConnectionRefused: figures.connectionRefused,
      onRefusal: environment.events && refusalWatcher(environment.events, name),
      tls: keys ?? pair,
      onHandshakeFailed,
      transport: plan.transport,
      http2: plan.http2,
      besideHttp1,
      ...environment,
    });
  } catch (fault) {
    throw listenRefusal(fault, plan);
  }
  if (plan.tls === undefined || certificates === undefined) return listener;
  const renew = (fresh: CertificatePair): void => listener.renewCertificate(fresh);
  const expiry = figures.certificateEnd(name);
  const stop = certificates.followCertificate(plan.tls, { ...environment, expiry, renew });
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

/** The counters that the listeners of an area, or of the main thread, share. */
export interface ListenerFigures {
  readonly observe: (observation: Observation) => void;
  readonly connectionRefused: (reason: ConnectionRefusal) => void;
  /** When the certificate of a listener expires, in seconds of Unix time. */
  certificateEnd(listener: string): Gauge;
}

/** Registers the figures of listeners. */
export function measureListeners(metrics: Metrics): ListenerFigures {
  const observe = requestObserver(metrics);
  const refused = metrics.counter(
    "larder_http_connections_refused_total",
    "Connections refused: too many on the port, too many from the address, or too few descriptors",
    ["reason"],
  );
  // Zero is reported too, so that the first refusal shows as an increase.
  for (const reason of connectionRefusals) refused.with(reason);
  const ends = metrics.gauge(
    "larder_certificate_expiry_timestamp_seconds",
    "When the certificate of a listener, or one of its intermediate certificates, expires, in Unix time",
    ["listener"],
  );
  return {
    observe,
    connectionRefused: (reason) => refused.with(reason).add(),
    certificateEnd: (listener) => ends.with(listener),
  };
}

/** Counts requests: how many by route and status, how long they took by route, how many bytes went by. */
function requestObserver(metrics: Metrics): (observation: Observation) => void {
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
