/** HTTP/1 by our own reader over sockets. */
import { createServer, type Server, type Socket } from "node:net";
import type { Server as TlsServer } from "node:tls";
import {
  type CertificatePair,
  HANDSHAKE_MS_MAX,
  TIMEOUT_CHECK_MS,
  TLS_MIN,
  type Transport,
  type TransportHandlers,
  type TransportOptions,
} from "../transport.ts";
import { type Shared, WireConnection } from "./connection.ts";
import { HeadEnds } from "./head-ends.ts";

export function wireTransport(handlers: TransportHandlers, { limits, tls, clock }: TransportOptions): Transport {
  const headEnds = new HeadEnds(limits.keepAliveTimeoutMs, clock.nowMs());
  const shared: Shared = { handlers, limits, headEnds, nowMs: clock.monotonicMs() };
  const connections = new Set<WireConnection>();
  let cancelCheck: (() => void) | undefined;
  const check = (): void => {
    cancelCheck = connections.size === 0 ? undefined : clock.after(TIMEOUT_CHECK_MS, check);
    renew();
    for (const connection of connections) connection.check();
  };
  const renew = (): void => {
    shared.nowMs = clock.monotonicMs();
    headEnds.renew(clock.nowMs());
  };
  const accept = (socket: Socket): void => {
    if (cancelCheck === undefined) {
      renew();
      cancelCheck = clock.after(TIMEOUT_CHECK_MS, check);
    }
    const connection = new WireConnection(socket, shared);
    connections.add(connection);
    socket.once("close", () => {
      connections.delete(connection);
      if (connections.size > 0) return;
      cancelCheck?.();
      cancelCheck = undefined;
    });
  };
  if (tls === undefined) {
    const server = createServer({ noDelay: true }, accept);
    return { server, renewCertificate() {} };
  }
  const server = createTlsServer(tls);
  server.on("secureConnection", accept);
  return {
    server: server as Server,
    renewCertificate({ certificate: cert, key }) {
      server.setSecureContext({ cert, key, minVersion: TLS_MIN });
    },
  };
}

function createTlsServer({ certificate: cert, key }: CertificatePair): TlsServer {
  // Loaded on use, since TLS takes a thread some milliseconds.
  const server = process.getBuiltinModule("node:tls").createServer({
    cert,
    key,
    minVersion: TLS_MIN,
    handshakeTimeout: HANDSHAKE_MS_MAX,
    ALPNProtocols: ["http/1.1"],
    noDelay: true,
  });
  server.on("tlsClientError", (_fault, socket) => socket.destroy());
  return server;
}
