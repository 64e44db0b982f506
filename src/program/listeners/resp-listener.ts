/** Opens the RESP port, if there is one, with its certificate from the files that the settings name. */
import { RespListener, type RespListenerOptions } from "../../edge/resp/listener.ts";
import type { Gauge } from "../../kernel/metrics.ts";
import type { RespPlan } from "../areas/area.ts";
import { listenRefusal } from "../refusal.ts";
import { followCertificate, readCertificate } from "./certificate.ts";

/** Rejects with a `StartRefusal` if files, port or address cannot be used. `stop` stops watching the files. */
export async function openRespListener(
  options: Omit<RespListenerOptions, "tls">,
  { listen, tls, certificateEnd }: Pick<RespPlan, "listen" | "tls"> & { readonly certificateEnd: Gauge },
): Promise<{ readonly listener: RespListener; readonly stop: () => void }> {
  if (listen === undefined) return { listener: new RespListener(options), stop: () => {} };
  const listener = new RespListener({ ...options, tls: tls && readCertificate(tls) });
  try {
    await listener.open();
  } catch (fault) {
    throw listenRefusal(fault, listen);
  }
  const { clock, log } = options;
  if (tls === undefined) return { listener, stop: () => {} };
  return {
    listener,
    stop: followCertificate(tls, { clock, log, expiry: certificateEnd, renew: listener.renewCertificate }),
  };
}
