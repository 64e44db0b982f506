/** The implementation of HTTP that the settings choose. */
import { http2Transport } from "./http2/transport.ts";
import type { Transport, TransportHandlers, TransportName, TransportOptions } from "./transport.ts";
import { wireTransport } from "./wire/transport.ts";

/** Makes the transport of a listener. */
export type NewTransport = (handlers: TransportHandlers, options: TransportOptions) => Transport;

const readers: Readonly<Record<TransportName, () => NewTransport | Promise<NewTransport>>> = {
  larder: () => wireTransport,
  // Loaded only where it is used, with all of node:http.
  node: async () => (await import("./node-transport.ts")).nodeTransport,
};

export interface TransportChoice {
  /** The reader of HTTP/1. Absent: `larder`. */
  readonly transport?: TransportName | undefined;
  /** Offers HTTP/2 as well; needs TLS. */
  readonly http2?: boolean | undefined;
  /** Adds a protocol to HTTP/1, which a peer may choose in the handshake; not beside HTTP/2. */
  readonly besideHttp1?: ((http1: NewTransport) => NewTransport) | undefined;
}

export async function chooseTransport({
  transport = "larder",
  http2 = false,
  besideHttp1,
}: TransportChoice): Promise<NewTransport> {
  const http1 = await readers[transport]();
  if (besideHttp1 !== undefined) return besideHttp1(http1);
  return http2 ? (handlers, options) => http2Transport(http1, handlers, options) : http1;
}
