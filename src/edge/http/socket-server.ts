/** What the transports over sockets share: a TLS server, and the check of the timeouts of their connections. */
import type { Server, Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import { type CertificatePair, HANDSHAKE_MS_MAX, TIMEOUT_CHECK_MS, TLS_MIN, type Transport } from "./transport.ts";

/** A server that reports `secureConnection`. `protocols`: what a client may choose in the handshake (ALPN). */
export function createTlsServer(
  { certificate: cert, key }: CertificatePair,
  protocols: readonly string[],
): Pick<Transport, "server" | "renewCertificate"> {
  // Loaded on use, since TLS takes a thread some milliseconds.
  const server = process.getBuiltinModule("node:tls").createServer({
    cert,
    key,
    minVersion: TLS_MIN,
    handshakeTimeout: HANDSHAKE_MS_MAX,
    ALPNProtocols: [...protocols],
    noDelay: true,
  });
  server.on("tlsClientError", (_fault, socket) => socket.destroy());
  return {
    server: server as Server,
    renewCertificate({ certificate, key }) {
      server.setSecureContext({ cert: certificate, key, minVersion: TLS_MIN });
    },
  };
}

/** A connection with timeouts. */
interface Checked {
  check(): void;
}

/** The open connections of a server. Each is checked every `TIMEOUT_CHECK_MS`; a server without connections has no timer. */
export class CheckedConnections<Connection extends Checked> {
  readonly #clock: Clock;
  readonly #renew: () => void;
  readonly #bySocket = new Map<Socket, Connection>();
  #cancelCheck: (() => void) | undefined;

  /** `renew` is called before the first connection is opened, and before each check. */
  constructor(clock: Clock, renew: () => void = () => {}) {
    this.#clock = clock;
    this.#renew = renew;
  }

  /** The open connection of a socket. */
  find(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Opens a connection, which is checked until its socket closes. */
  add(socket: Socket, open: () => Connection): void {
    if (this.#cancelCheck === undefined) {
      this.#renew();
      this.#planCheck();
    }
    this.#bySocket.set(socket, open());
    socket.once("close", () => {
      this.#bySocket.delete(socket);
      if (this.#bySocket.size > 0) return;
      this.#cancelCheck?.();
      this.#cancelCheck = undefined;
    });
  }

  #planCheck(): void {
    this.#cancelCheck = this.#clock.after(TIMEOUT_CHECK_MS, () => {
      this.#planCheck();
      this.#renew();
      for (const connection of this.#bySocket.values()) connection.check();
    });
  }
}
