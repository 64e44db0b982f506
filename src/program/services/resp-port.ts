/** The RESP port of the store, or of several shards of it. */
import { TrustedProxies } from "../../edge/http/trusted-proxies.ts";
import type { RespListener, RespListenerOptions } from "../../edge/resp/listener.ts";
import { REPLY_BYTES_MAX } from "../../edge/store/routes.ts";
import type { AreaLimits, RespPlan } from "../areas/area.ts";
import type { EventReporter } from "../events/reporter.ts";
import { commandWatcher } from "../events/watchers.ts";
import { descriptorsForConnections } from "../listeners/descriptors.ts";
import type { ListenerEnvironment } from "../listeners/listener.ts";

export interface RespPortOptions
  extends Pick<RespListenerOptions, "store" | "tokens" | "routes" | "isServing" | "storeClock"> {
  readonly plan: { readonly limits: Pick<AreaLimits, "requestBytesMax" | "peers" | "redisCompat"> };
  readonly resp: RespPlan;
  /** Undefined: nobody watches. */
  readonly events: EventReporter | undefined;
}

/** Rejects with a `StartRefusal` if files, port or address cannot be used. `stop` stops watching the files. */
export async function openRespPort(
  { plan: { limits }, resp, events, ...store }: RespPortOptions,
  { clock, log, budget, figures }: ListenerEnvironment,
): Promise<{ readonly listener: RespListener; readonly stop: () => void }> {
  const { listen, connectionsMax, tls } = resp;
  const options: Omit<RespListenerOptions, "tls"> = {
    ...store,
    host: listen?.host ?? "",
    port: listen?.port ?? 0,
    connectionsMax,
    gate: {
      proxies: new TrustedProxies(limits.peers.trustedProxies),
      perAddressMax: limits.peers.connectionsPerAddressMax,
      descriptorsMax: descriptorsForConnections(),
    },
    isOpenToAll: limits.redisCompat,
    clock,
    log,
    onFailure: events && commandWatcher(events),
    budget,
    limits: { requestBytesMax: limits.requestBytesMax, replyBytesMax: REPLY_BYTES_MAX },
  };
  // Loaded only where it is used, because TLS takes a thread some milliseconds.
  const { openRespListener } = await import("../listeners/resp-listener.ts");
  return openRespListener(options, { listen, tls, certificateEnd: figures.certificateEnd("resp") });
}
