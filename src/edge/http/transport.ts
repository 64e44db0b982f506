/**
 * What the listener needs of an implementation of HTTP. There are two of HTTP/1:
 * `node-transport.ts` over `node:http`, and `wire/` over sockets. `http2/` adds
 * HTTP/2 to either of them, on the same port.
 */
import type { Server, Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import type { RequestFailure } from "../errors.ts";
import type { HeadMemo } from "../handler.ts";
import type { Framing } from "./framing.ts";
import type { SharedKeys } from "./shared-key.ts";

/** By the module of Node, and by our own reader. */
export const transportNames = ["larder", "node"] as const;
export type TransportName = (typeof transportNames)[number];

/**
 * What carries the requests of a peer, one after the other: a connection of HTTP/1, which is a socket, or one stream of
 * HTTP/2, which has one request. Limits of a connection are limits of a channel.
 */
export interface Channel {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly bytesRead: number;
  readonly writableLength: number;
  /** A place for what the listener keeps of it; absent: in a table of the listener. */
  listenerState?: unknown;
  readonly setTimeout: (ms: number) => unknown;
  once(event: "close", closed: () => void): unknown;
  destroy(): unknown;
  /** Destroys it when its bytes have been sent. */
  destroySoon(): void;
}

/** A request whose head has been read. */
export interface TransportRequest {
  readonly method: string;
  /** As written on the request line: any form of RFC 9112 section 3.2. */
  readonly target: string;
  /** `2`, `1.1` or `1.0`; any other version is refused with a request line or a head that has no meaning. */
  readonly httpVersion: string;
  /** In order: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  /** Set if the head repeats an earlier one of its connection. */
  readonly memo?: HeadMemo | undefined;
  readonly framing: Framing;
  /** A body follows the head. */
  readonly hasBody: boolean;
  readonly channel: Channel;
  /** HTTP/2: the reply may end before the body; then the peer is told to send no more, and the body is not received. */
  readonly mayEndEarly: boolean;
  /** Set if all of it has been received, and its connection answers it in a drain: nobody needs to look for its channel. */
  readonly hasCome?: boolean;
  /** Its body is not read for the moment, because replies before it wait for the peer. */
  readonly isBodyPaused: boolean;
  /** Begins to read the body, or gives the rest of it to another receiver. Never called for a request without a body. */
  receive(receiver: BodyReceiver): void;
}

/** The head of a CONNECT request. */
export type TunnelHead = Pick<TransportRequest, "method" | "target" | "rawHeaders">;

/** Why a CONNECT request is refused, or what takes its socket after the answer 200. */
export type OnTunnel = (head: TunnelHead, peer: Socket) => RequestFailure | ((socket: Socket) => void);

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

/** Why one request of HTTP/2 is refused. */
export type StreamFault = "malformed" | "head too large" | "tunnel";

export interface TransportHandlers {
  request(request: TransportRequest, response: TransportResponse, expectation: Expectation): void;
  /** HTTP/2: a request that must be refused. Other streams of the connection continue. */
  refused(request: TransportRequest, response: TransportResponse, fault: StreamFault): void;
  /** HTTP/2: the body of a request was not complete in time. */
  lateBody(channel: Channel): void;
  /**
   * A CONNECT request. The socket is the handler's from here on. Without its head, bytes came after it: a client must wait for
   * the answer.
   */
  tunnel(socket: Socket, head: TunnelHead | undefined): void;
  /** Nothing was received or sent for as long as `setTimeout` of the socket says, or between two requests. */
  silent(channel: Channel): void;
  /** The rest of the connection cannot be read. The socket is the handler's from here on, unless it is "late". */
  fault(socket: Socket, fault: ConnectionFault): void;
}

export interface TransportLimits {
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly stalledTimeoutMs: number;
}

export interface TransportOptions {
  readonly limits: TransportLimits;
  /** Absent: connections are not encrypted. */
  readonly tls: TlsIdentity | undefined;
  readonly clock: Clock;
}

export interface Transport {
  /** Not listening yet. A TLS server reports `secureConnection` as well. */
  readonly server: Server;
  /** HTTP/2: the channel of a whole connection, whose `destroy` lets open streams finish. Undefined for HTTP/1. */
  channelOf?(socket: Socket): Channel | undefined;
  /** New connections use this certificate. Throws if the pair is not valid. Without a certificate before, it does nothing. */
  renewCertificate(pair: CertificatePair): void;
}

/** How a TLS server proves who it is: to anyone, or to peers that must prove the same. */
export type TlsIdentity = CertificatePair | SharedKeys;

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
