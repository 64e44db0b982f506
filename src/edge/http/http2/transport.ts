/** HTTP/2 over TLS beside HTTP/1 on one port: the client chooses in the handshake (ALPN). */
import type { TLSSocket } from "node:tls";
import { CheckedConnections, createTlsServer } from "../socket-server.ts";
import type { Transport, TransportHandlers, TransportOptions } from "../transport.ts";
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
  const connections = new CheckedConnections<Http2Connection>(clock);
  const plain = http1(handlers, { limits, tls: undefined, clock });
  const { server, renewCertificate } = createTlsServer(tls, [HTTP2, "http/1.1"]);
  server.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol === HTTP2)
      connections.add(socket, () => new Http2Connection(performServerHandshake(socket, options), socket, shared));
    else plain.server.emit("connection", socket);
  });
  // The server of HTTP/1 has no socket of its own, but it looks for late requests while it "listens".
  server.once("listening", () => plain.server.emit("listening"));
  server.once("close", () => plain.server.close());
  return { server, channelOf: (socket) => connections.find(socket)?.channel, renewCertificate };
}
