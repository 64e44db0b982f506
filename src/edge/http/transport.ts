/**
 * What the listener needs of an implementation of HTTP/1. There are two:
 * `node-transport.ts` over `node:http`, and `wire/` over sockets.
 */
import type { Server, Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import type { HeadMemo } from "../handler.ts";
import type { Framing } from "./framing.ts";

/** By the module of Node, and by our own reader. */
export const transportNames = ["node", "larder"] as const;
export type TransportName = (typeof transportNames)[number];

/** A request whose head has been read. */
export interface TransportRequest {
  readonly method: string;
  /** As written on the request line: any form of RFC 9112 section 3.2. */
  readonly target: string;
  /** `1.1` or `1.0`; any other version is refused with a request line or a head that has no meaning. */
  readonly httpVersion: string;
  /** In order: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  /** Set if the head repeats an earlier one of its connection. */
  readonly memo?: HeadMemo | undefined;
  readonly framing: Framing;
  readonly socket: Socket;
  /** Its body is not read for the moment, because replies before it wait for the peer. */
  readonly isBodyPaused: boolean;
  /** Begins to read the body, or gives the rest of it to another receiver. Never called for a request without a body. */
  receive(receiver: BodyReceiver): void;
}

export interface BodyReceiver {
  data(chunk: Buffer): void;
  /** The body is complete. Not called if the connection ends before. */
  end(): void;
}

/** The response to a request. The bytes of several on one connection leave in the order of the requests. */
export interface TransportResponse {
  /** Headers as name, value, name, value, … Without Content-Length the body is chunked, or ends with the connection. */
  writeHead(status: number, headers: string[]): void;
  /** False if the peer reads more slowly than we write. */
  write(chunk: string | Buffer, encoding: BufferEncoding): boolean;
  end(body?: string | Buffer, encoding?: BufferEncoding): void;
  /** Sends the head before the first bytes of the body. */
  flushHeaders(): void;
  /** Sends `100 Continue`. */
  writeContinue(): void;
  /** Bytes that the system has not taken. */
  readonly writableLength: number;
  /** `end` was called. */
  readonly writableEnded: boolean;
  /** Calls once when the system has taken the response, or the connection has closed; never within another call. */
  onClose(closed: () => void): void;
}

/** What the client expects before it sends the body: nothing, `100-continue`, or something that we do not know. */
export type Expectation = "nothing" | "continue" | "unknown";

export type ConnectionFault =
  /** The head or the body of a request was not complete in time. */
  | "late"
  | "head too large"
  | "malformed"
  /** The system reported that the peer has gone. */
  | "reset";

export interface TransportHandlers {
  request(request: TransportRequest, response: TransportResponse, expectation: Expectation): void;
  /** A CONNECT request. The socket is the handler's from here on. */
  tunnel(socket: Socket): void;
  /** Nothing was received or sent for as long as `setTimeout` of the socket says, or between two requests. */
  silent(socket: Socket): void;
  /** The rest of the connection cannot be read. The socket is the handler's from here on, unless it is "late". */
  fault(socket: Socket, fault: ConnectionFault): void;
}

export interface TransportLimits {
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
}

export interface TransportOptions {
  readonly limits: TransportLimits;
  /** Absent: connections are not encrypted. */
  readonly tls: CertificatePair | undefined;
  readonly clock: Clock;
}

export interface Transport {
  /** Not listening yet. A TLS server reports `secureConnection` as well. */
  readonly server: Server;
  /** New connections use this certificate. Throws if the pair is not valid. Without TLS it does nothing. */
  renewCertificate(pair: CertificatePair): void;
}

/** Texts in PEM. */
export interface CertificatePair {
  /** With its intermediate certificates. */
  readonly certificate: string;
  readonly key: string;
}

/** Timeout of a TLS handshake, and the oldest TLS version. */
export const HANDSHAKE_MS_MAX = 10_000;
export const TLS_MIN = "TLSv1.2";
/** Time between two checks of the timeouts of connections. */
export const TIMEOUT_CHECK_MS = 1_000;
