/**
 * What the listeners and the transports over sockets share: the start of
 * listening, a TLS server, and the check of the timeouts of connections.
 */
import { type AddressInfo, type BoundSocket, isIPv4, type ListenOptions, type Server, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import type { Clock } from "../../kernel/clock.ts";
import type { HttpReply } from "../handler.ts";
import { SharedKeys } from "./shared-key.ts";
import { statusTexts } from "./status-texts.ts";
import { HANDSHAKE_MS_MAX, TIMEOUT_CHECK_MS, TLS_MIN, type TlsIdentity, type Transport } from "./transport.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/**
 * Starts to listen, and resolves with the real port. Rejects with the system's error if the address cannot be used.
 *
 * `server.listen` looks the host up, and tests the address with the regular expression of IPv6, whose compilation costs a
 * thread 8 ms of its start. A socket that is already bound to an IPv4 address needs neither. After any failure
 * `server.listen` tries again, since its errors name the address.
 */
export async function startListening(server: Server, { host, port }: ListenAddress): Promise<number> {
  const handle = bindIPv4(host, port);
  const adoption = handle && listenWith(server, { handle });
  const isListening = await adoption?.then(
    () => true,
    () => false,
  );
  if (isListening !== true) await listenWith(server, { host, port });
  return (server.address() as AddressInfo).port;
}

/** Undefined for other hosts, if binding fails, and in versions of Node without bound sockets. */
function bindIPv4(host: string, port: number): BoundSocket | undefined {
  // Not in every version that larder supports (since 26.4), so that it cannot be imported by name.
  const { BoundSocket: Bound } = process.getBuiltinModule("node:net") as Partial<typeof import("node:net")>;
  if (Bound === undefined || !isIPv4(host)) return undefined;
  try {
    return new Bound({ host, port });
  } catch {
    return undefined;
  }
}

function listenWith(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      server.off("error", failed);
      resolve();
    };
    const failed = (fault: Error): void => {
      server.off("listening", done);
      reject(fault);
    };
    server.once("error", failed);
    server.once("listening", done);
    server.listen(options);
  });
}

/** A server that reports `secureConnection`. `protocols`: what a client may choose in the handshake (ALPN). */
export function createTlsServer(
  identity: TlsIdentity,
  protocols: readonly string[],
): Pick<Transport, "server" | "renewCertificate"> {
  // Loaded on use, since TLS takes a thread some milliseconds.
  const server = process.getBuiltinModule("node:tls").createServer({
    ...identityOptions(identity),
    ALPNProtocols: [...protocols],
    noDelay: true,
  });
  server.on("tlsClientError", (_fault, socket) => socket.destroy());
  return {
    server: server as Server,
    renewCertificate(pair) {
      if (!(identity instanceof SharedKeys)) server.setSecureContext(identityOptions(pair));
    },
  };
}

/** The options of a TLS server that say who it is, and how long a handshake may take. */
export function identityOptions(identity: TlsIdentity): TlsOptions {
  const handshakeTimeout = HANDSHAKE_MS_MAX;
  if (identity instanceof SharedKeys) return { ...identity.serverOptions, handshakeTimeout };
  const { certificate: cert, key } = identity;
  return { cert, key, minVersion: TLS_MIN, handshakeTimeout };
}

/** Answers on a socket that no response is for, and ends it: what comes is dropped for so long, as the peer may still send. */
export function endWithAnswer(
  socket: Socket,
  { status, headers, body }: HttpReply,
  { clock, dropMs }: { readonly clock: Clock; readonly dropMs: number },
): void {
  const lines = [`HTTP/1.1 ${status} ${statusTexts[status]}`];
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  lines.push(`Content-Length: ${body.length}`, "Connection: close", "", "");
  socket.on("error", () => socket.destroy());
  socket.end(lines.join("\r\n") + body, "latin1");
  const cancel = clock.after(dropMs, () => socket.destroy());
  socket.once("close", cancel);
  socket.resume();
}

/** What a transport listens to on its sockets, besides their ends. */
const TRANSPORT_EVENTS = ["data", "drain", "timeout"] as const;

/** Answers a CONNECT request with 200, and takes the socket from its transport. The peer has sent nothing after its head. */
export function beginTunnel(socket: Socket): void {
  for (const event of TRANSPORT_EVENTS) socket.removeAllListeners(event);
  socket.setTimeout(0);
  // Each side ends by itself.
  socket.allowHalfOpen = true;
  socket.write("HTTP/1.1 200 OK\r\n\r\n", "latin1");
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
