/** HTTP/1 by `node:http` and `node:https`. No other file sees an object of those modules. */
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { loadHttp } from "./builtin-module.ts";
import { type Framing, hasBody, readFraming } from "./framing.ts";
import { SharedKeys } from "./shared-key.ts";
import { identityOptions } from "./socket-server.ts";
import {
  type BodyReceiver,
  type ConnectionFault,
  type Expectation,
  TIMEOUT_CHECK_MS,
  type TlsIdentity,
  type Transport,
  type TransportHandlers,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

const { createServer, IncomingMessage, ServerResponse } = loadHttp();

/**
 * A request of `node:http` with its framing, read once.
 *
 * `node:http` reads `headers.expect` of each request and would build an object of all headers for it. The framing,
 * which we read anyway, has this field too (saves 10 % of a small request: bench/edge.bench.ts).
 */
class NodeRequest extends IncomingMessage implements TransportRequest {
  declare method: string;
  readonly mayEndEarly = false;
  #framing: Framing | undefined;
  #receiver: BodyReceiver | undefined;

  get target(): string {
    return this.url ?? "";
  }

  get framing(): Framing {
    this.#framing ??= readFraming(this.rawHeaders);
    return this.#framing;
  }

  get hasBody(): boolean {
    return hasBody(this.framing);
  }

  get channel(): Socket {
    return this.socket;
  }

  get isBodyPaused(): boolean {
    return this.isPaused();
  }

  receive(receiver: BodyReceiver): void {
    const isFirst = this.#receiver === undefined;
    this.#receiver = receiver;
    if (!isFirst) return;
    this.on("data", (chunk: Buffer) => this.#receiver?.data(chunk));
    this.on("end", () => this.#receiver?.end());
  }
}
Object.defineProperty(NodeRequest.prototype, "headers", {
  get(this: NodeRequest): Framing {
    return this.framing;
  },
});

class NodeResponse extends ServerResponse<NodeRequest> implements TransportResponse {
  onClose(closed: () => void): void {
    this.on("close", closed);
  }
}

type TlsServer = HttpsServer<typeof NodeRequest, typeof NodeResponse>;

export function nodeTransport(handlers: TransportHandlers, { limits, tls }: TransportOptions): Transport {
  const serverOptions = {
    IncomingMessage: NodeRequest,
    ServerResponse: NodeResponse,
    insecureHTTPParser: false,
    // framing.ts checks the host.
    requireHostHeader: false,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    noDelay: true,
  } as const;
  const tlsServer = tls === undefined ? undefined : createTlsServer(serverOptions, tls);
  const server = tlsServer ?? createServer(serverOptions);
  // Node would close connections whose reply is not entirely sent; OpenConnections knows the idle ones.
  server.closeIdleConnections = () => {};
  // Headers are limited by their bytes. With a limit on their number, node would drop them silently.
  server.maxHeadersCount = 0;
  const begin =
    (expectation: Expectation) =>
    (request: NodeRequest, response: NodeResponse): void =>
      handlers.request(request, response, expectation);
  server.on("request", begin("nothing"));
  server.on("checkContinue", begin("continue"));
  server.on("checkExpectation", begin("unknown"));
  server.on("connect", (request, socket, rest) =>
    handlers.tunnel(socket as Socket, rest.length > 0 ? undefined : request),
  );
  server.on("timeout", (socket) => handlers.silent(socket));
  server.on("clientError", (error, socket) => handlers.fault(socket as Socket, faultOf(error)));
  return {
    server,
    renewCertificate(pair) {
      if (!(tls instanceof SharedKeys)) tlsServer?.setSecureContext(identityOptions(pair));
    },
  };
}

function createTlsServer<Options extends object>(serverOptions: Options, identity: TlsIdentity): TlsServer {
  // Loaded on use, since TLS takes a thread some milliseconds.
  const { createServer: createTlsServer } = process.getBuiltinModule("node:https");
  const server: TlsServer = createTlsServer({ ...serverOptions, ...identityOptions(identity) });
  server.on("tlsClientError", (_fault, socket) => socket.destroy());
  return server;
}

function faultOf(error: Error): ConnectionFault {
  switch ("code" in error ? error.code : undefined) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "late";
    case "HPE_HEADER_OVERFLOW":
      return "head too large";
    case "ECONNRESET":
      return "reset";
    default:
      return "malformed";
  }
}
