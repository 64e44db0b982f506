/** The implementation of HTTP that the settings choose. */
import { http2Transport } from "./http2/transport.ts";
import { nodeTransport } from "./node-transport.ts";
import type { Transport, TransportHandlers, TransportName, TransportOptions } from "./transport.ts";
import { wireTransport } from "./wire/transport.ts";

const readers: Record<TransportName, (handlers: TransportHandlers, options: TransportOptions) => Transport> = {
  node: nodeTransport,
  larder: wireTransport,
};

export interface TransportChoice {
  /** The reader of HTTP/1. Absent: `larder`. */
  readonly transport?: TransportName | undefined;
  /** Offers HTTP/2 as well; needs TLS. */
  readonly http2?: boolean | undefined;
}

export function chooseTransport(
  { transport = "larder", http2 = false }: TransportChoice,
  handlers: TransportHandlers,
  options: TransportOptions,
): Transport {
  const http1 = readers[transport];
  return http2 ? http2Transport(http1, handlers, options) : http1(handlers, options);
}
