/** HTTP/2 over TLS beside HTTP/1 on one port: the client chooses in the handshake (ALPN). */
import type { Server, Socket } from "node:net";
import type { TLSSocket, Server as TlsServer } from "node:tls";
import {
  type CertificatePair,
  HANDSHAKE_MS_MAX,
  TIMEOUT_CHECK_MS,
  TLS_MIN,
  type Transport,
  type TransportHandlers,
  type TransportOptions,
} from "../transport.ts";
import { Http2Connection, nativeLimits } from "./session.ts";

const HTTP2 = "h2";

/** `http1` makes the transport of clients that choose HTTP/1, or nothing. */
export function http2Transport(
  http1: (handlers: TransportHandlers, options: TransportOptions) => Transport,
  handlers: TransportHandlers,
  { limits, tls, clock }: TransportOptions,
): Transport {
  if (tls === undefined) throw new TypeError("HTTP/2 needs TLS");
  // Loaded on use, since few servers need it.
  const { performServerHandshake } = process.getBuiltinModule("node:http2");
  const options = nativeLimits(limits);
  const shared = { handlers, limits, nowMs: () => clock.monotonicMs() };
  const connections = new Map<Socket, Http2Connection>();
  const plain = http1(handlers, { limits, tls: undefined, clock });
  const server = createTlsServer(tls);
  let cancelCheck: (() => void) | undefined;
  const check = (): void => {
    cancelCheck = connections.size === 0 ? undefined : clock.after(TIMEOUT_CHECK_MS, check);
    for (const connection of connections.values()) connection.check();
  };
  server.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol !== HTTP2) {
      plain.server.emit("connection", socket);
      return;
    }
    cancelCheck ??= clock.after(TIMEOUT_CHECK_MS, check);
    connections.set(socket, new Http2Connection(performServerHandshake(socket, options), socket, shared));
    socket.once("close", () => {
      connections.delete(socket);
      if (connections.size > 0) return;
      cancelCheck?.();
      cancelCheck = undefined;
    });
  });
  // The server of HTTP/1 has no socket of its own, but it looks for late requests while it "listens".
  server.once("listening", () => plain.server.emit("listening"));
  server.once("close", () => plain.server.close());
  return {
    server: server as Server,
    channelOf: (socket) => connections.get(socket)?.channel,
    renewCertificate({ certificate: cert, key }) {
      server.setSecureContext({ cert, key, minVersion: TLS_MIN });
    },
  };
}

function createTlsServer({ certificate: cert, key }: CertificatePair): TlsServer {
  const server = process.getBuiltinModule("node:tls").createServer({
    cert,
    key,
    minVersion: TLS_MIN,
    handshakeTimeout: HANDSHAKE_MS_MAX,
    ALPNProtocols: [HTTP2, "http/1.1"],
    noDelay: true,
  });
  server.on("tlsClientError", (_fault, socket) => socket.destroy());
  return server;
}
