/** Links of other nodes beside HTTP/1 on the port for forwarded requests: the peer chooses in the handshake (ALPN). */
import type { TLSSocket } from "node:tls";
import type { Log } from "../../../kernel/log.ts";
import type { NewTransport } from "../../http/choose-transport.ts";
import { CheckedConnections, createTlsServer } from "../../http/socket-server.ts";
import { LINK_PROTOCOL, LINK_PROTOCOLS } from "./frames.ts";
import { type AcceptTunnel, LinkConnection, type SharedByLinks } from "./owning-side.ts";

/**
 * Adds links to a transport of HTTP/1. Links that break the protocol are logged. `acceptTunnel` takes the connections of RESP
 * clients that come over links; without it the node takes none.
 */
export function withLinks(log: Log, acceptTunnel?: AcceptTunnel): (http1: NewTransport) => NewTransport {
  return (http1) =>
    (handlers, { limits, tls, clock }) => {
      if (tls === undefined) throw new TypeError("Links need TLS");
      const shared: SharedByLinks = { handlers, limits, log, acceptTunnel, nowMs: () => clock.monotonicMs() };
      const links = new CheckedConnections<LinkConnection>(clock);
      const plain = http1(handlers, { limits, tls: undefined, clock });
      const { server, renewCertificate } = createTlsServer(tls, [...LINK_PROTOCOLS, "http/1.1"]);
      server.on("secureConnection", (socket: TLSSocket) => {
        const protocol = String(socket.alpnProtocol);
        const hasTunnels = protocol === LINK_PROTOCOL;
        if (LINK_PROTOCOLS.includes(protocol))
          links.add(socket, () => new LinkConnection(socket, shared, { hasTunnels }));
        else plain.server.emit("connection", socket);
      });
      // The server of HTTP/1 has no socket of its own, but it looks for late requests while it "listens".
      server.once("listening", () => plain.server.emit("listening"));
      server.once("close", () => plain.server.close());
      return { server, channelOf: (socket) => links.find(socket)?.channel, renewCertificate };
    };
}
