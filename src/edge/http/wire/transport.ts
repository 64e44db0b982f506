/** HTTP/1 by our own reader over sockets. */
import { createServer, type Socket } from "node:net";
import { CheckedConnections, createTlsServer } from "../socket-server.ts";
import type { Transport, TransportHandlers, TransportOptions } from "../transport.ts";
import { type Shared, TakenResponses, WireConnection } from "./connection.ts";
import { HeadEnds } from "./head-ends.ts";

export function wireTransport(handlers: TransportHandlers, { limits, tls, clock }: TransportOptions): Transport {
  const headEnds = new HeadEnds(limits.keepAliveTimeoutMs, clock.nowMs());
  const takenResponses = new TakenResponses();
  const shared: Shared = { handlers, limits, headEnds, takenResponses, nowMs: clock.monotonicMs() };
  const connections = new CheckedConnections<WireConnection>(clock, () => {
    shared.nowMs = clock.monotonicMs();
    headEnds.renew(clock.nowMs());
  });
  const accept = (socket: Socket): void => connections.add(socket, () => new WireConnection(socket, shared));
  if (tls === undefined) return { server: createServer({ noDelay: true }, accept), renewCertificate() {} };
  const transport = createTlsServer(tls, ["http/1.1"]);
  transport.server.on("secureConnection", accept);
  return transport;
}
