/**
 * Passes a request of the console on to the area's own port over loopback, so that
 * rights, limits, quotas and metrics are those of any client.
 *
 * (1) The token of the tenant is added here. No header of the browser is passed on
 *     but those of the interface, so neither its cookie nor its origin is.
 * (2) With TLS, nothing is sent before the port has shown the server's own
 *     certificate. Its name and its end do not matter on the way to ourselves.
 * (3) Answers of an area are data of users. They get headers under which a browser
 *     renders nothing, and none that sets a cookie or allows another origin.
 * (4) Each request has a connection of its own: none is left idle.
 */

import type { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { areaUnreachable, busy, consoleAnswerTooLong, RequestFailure } from "../../errors.ts";
import type { HttpReply, HttpRequest, HttpStream } from "../../handler.ts";
import { loadHttp } from "../../http/builtin-module.ts";
import { unprefixedHeader } from "../../names.ts";
import { consoleHeaders } from "./pages.ts";

/** The port of an area. */
export interface AreaPlace {
  /** Such as `http://127.0.0.1:8079`, or `https://127.0.0.1:8000/store`, without a slash at the end. */
  readonly url: string;
  /** Whether this is the certificate of the port. */
  readonly isOwnCertificate: (certificate: X509Certificate) => boolean;
}

export interface PassedCall {
  readonly area: string;
  readonly place: AreaPlace;
  readonly token: string;
  /** Path and query, as written. */
  readonly target: string;
  readonly route: string;
}

/** An answer, or a stream of events that `guardStream` lets continue. */
export interface AreaAnswer {
  readonly status: number;
  readonly reply: HttpReply | HttpStream;
}

/** What ends the streams of the console. */
export interface StreamGuard {
  /** Called with each piece of a stream; false: its session is over. */
  isAlive(): boolean;
  /** Calls `end` when the session ends. The returned function forgets it. */
  onEnd(end: () => void): () => void;
}

/** The longest answer that is passed on; the areas' own limits are higher. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Streams have a heartbeat each 15 s. */
const SILENCE_MS_MAX = 60_000;
/** A browser that reads more slowly is disconnected. */
const UNREAD_BYTES_MAX = 8 * 1024 * 1024;

/** Besides those of the interface. */
const passedHeaders: readonly string[] = ["content-type", "accept"];

/** Headers of an answer that are passed on, besides those of the interface. */
const returnedHeaders = /^(?:retry-after|(?:burst-)?ratelimit-[a-z-]+)$/;

const SHOWN_TYPES = /^application\/json\b/i;
const EVENTS = /^text\/event-stream\b/i;

/** Headers of every answer of the API of the console: a browser that opens one as a page renders nothing. keeps (3) */
export const answerHeaders: readonly string[] = [
  ...consoleHeaders,
  "Content-Security-Policy",
  "sandbox; default-src 'none'; frame-ancestors 'none'",
  "Cache-Control",
  "no-store",
];

/** Rejects with a RequestFailure if the area gives no answer. */
export async function passOn(request: HttpRequest, call: PassedCall, guard: StreamGuard): Promise<AreaAnswer> {
  const response = await send(request, call);
  const status = response.statusCode ?? 0;
  const type = response.headers["content-type"] ?? "";
  const isShown = SHOWN_TYPES.test(type) || EVENTS.test(type);
  const headers = [
    ...answerHeaders,
    "Content-Type",
    isShown ? type : "application/octet-stream",
    ...(isShown ? [] : ["Content-Disposition", "attachment"]),
    ...returnedFrom(response),
  ];
  const { route } = call;
  if (EVENTS.test(type)) return { status, reply: { status, headers, route, open: streamFrom(response, guard) } };
  const body = await bodyOf(request, response, call.area);
  return { status, reply: { status, headers, body, route } };
}

async function send(request: HttpRequest, { area, place, token, target }: PassedCall): Promise<IncomingMessage> {
  const url = new URL(place.url);
  const prefix = url.pathname === "/" ? "" : url.pathname;
  const { hostname, port } = url;
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  try {
    const sent = loadHttp().request(
      {
        ...{ host, port, method: request.method, path: prefix + target },
        headers: { ...headersFrom(request.rawHeaders), host: url.host, authorization: `Bearer ${token}` },
        // keeps (4); a connection of our own has no agent.
        ...(url.protocol === "https:"
          ? { createConnection: connectTls({ host, port: Number(port || 443) }, place) }
          : { agent: false }),
      },
      resolve,
    );
    sent.setTimeout(SILENCE_MS_MAX, () => sent.destroy(new Error(`it is silent for ${SILENCE_MS_MAX / 1_000} s`)));
    sent.on("error", reject);
    sent.end(request.body.length > 0 ? request.body : undefined);
    return await promise;
  } catch (fault) {
    throw areaUnreachable(area, fault instanceof Error ? fault.message : String(fault));
  }
}

type CreateConnection = NonNullable<import("node:http").RequestOptions["createConnection"]>;

/** keeps (2) */
function connectTls(
  to: { readonly host: string; readonly port: number },
  { isOwnCertificate }: AreaPlace,
): CreateConnection {
  const tls = process.getBuiltinModule("node:tls");
  return (_, onCreated) => {
    const socket = tls.connect({ ...to, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
    const fail = (fault: Error): void => onCreated(fault, socket);
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      socket.off("error", fail);
      const certificate = socket.getPeerX509Certificate();
      if (certificate !== undefined && isOwnCertificate(certificate)) onCreated(null, socket);
      else {
        socket.destroy();
        onCreated(new Error("the port shows another certificate"), socket);
      }
    });
    return undefined;
  };
}

/** keeps (1) */
function headersFrom(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    const value = rawHeaders[index + 1] ?? "";
    if (unprefixedHeader(name) === undefined && !passedHeaders.includes(name)) continue;
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

function returnedFrom({ rawHeaders }: IncomingMessage): readonly string[] {
  const returned: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    const lower = name.toLowerCase();
    if (unprefixedHeader(lower) !== undefined || returnedHeaders.test(lower))
      returned.push(name, rawHeaders[index + 1] ?? "");
  }
  return returned;
}

async function bodyOf(request: HttpRequest, response: IncomingMessage, area: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > ANSWER_BYTES_MAX) throw consoleAnswerTooLong(ANSWER_BYTES_MAX);
      if (request.takeReply?.(piece.length) === false) throw busy;
      pieces.push(piece);
    }
  } catch (fault) {
    response.destroy();
    if (fault instanceof RequestFailure) throw fault;
    throw areaUnreachable(area, fault instanceof Error ? fault.message : String(fault));
  }
  return Buffer.concat(pieces, length);
}

/** Ends with the browser, with the area's stream, and with the session. */
function streamFrom(response: IncomingMessage, guard: StreamGuard): HttpStream["open"] {
  return (sink) => {
    const forget = guard.onEnd(() => response.destroy());
    response.on("data", (piece: Buffer) => {
      if (!guard.isAlive()) response.destroy();
      else if (!sink.write(piece) && sink.queuedBytes > UNREAD_BYTES_MAX) sink.abort();
    });
    // A destroyed answer has no other end.
    response.on("error", () => {});
    response.on("close", () => sink.end());
    return () => {
      forget();
      response.destroy();
    };
  };
}
