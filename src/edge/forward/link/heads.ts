/**
 * Heads of requests on a link. One that repeats is sent once, and named by its place
 * afterwards.
 *
 * (1) The first node that reads a head says that it repeats (`HeadMemo`): then only
 *     the values of Content-Length, which does not pass, and of the sync token
 *     differ. So a head with one sync token at most may be named, and each request
 *     has its own value.
 * (2) A head that is written reads as one head of HTTP/1.1 with the same fields: its
 *     names, its values and its target have no byte that ends any of them.
 */
import type { HeadMemo, RequestHead } from "../../handler.ts";
import type { StreamFault } from "../../http/transport.ts";
import { type Head, HeadReader } from "../../http/wire/head.ts";
import { isSyncTokenField } from "../../http/wire/repeated-head.ts";
import { isName, isValue } from "../../http/wire/response.ts";
import { forwardedHeaders } from "../forwarded-head.ts";

/** What a node keeps of a head that it has given a place on a link. */
export class PlacedHead {
  readonly link: object;
  readonly place: number;
  /** The index of the sync token in the headers of its client; undefined without one. */
  readonly syncAt: number | undefined;
  /** The place belongs to another head. */
  isForgotten = false;

  constructor(link: object, place: number, syncAt: number | undefined) {
    this.link = link;
    this.place = place;
    this.syncAt = syncAt;
  }
}

const REQUEST_LINE = /^[A-Z-]+ \/[!-~]*$/;

/** The head of a forwarded request, each character a byte; undefined if it cannot be written. */
export function headText({ method, target, rawHeaders, remoteAddress, remotePort }: RequestHead): string | undefined {
  const requestLine = `${method} ${target}`;
  if (!REQUEST_LINE.test(requestLine)) return undefined; // keeps (2)
  const headers = forwardedHeaders(rawHeaders, { address: remoteAddress, port: remotePort });
  let text = `${requestLine} HTTP/1.1\r\n`;
  let hasHost = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    if (!isName(name) || !isValue(value)) return undefined; // keeps (2)
    hasHost ||= name.length === "host".length && name.toLowerCase() === "host";
    text += `${name}: ${value}\r\n`;
  }
  // HTTP/1.0 may omit it.
  return hasHost ? `${text}\r\n` : `${text}Host: larder\r\n\r\n`;
}

/** The index of the value of the sync token; undefined without one, -1 with several. */
export function syncTokenAt(rawHeaders: readonly string[]): number | undefined {
  let found: number | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (isSyncTokenField(rawHeaders[i] as string)) found = found === undefined ? i + 1 : -1;
  return found;
}

/** A head that a link has received. */
export interface ReceivedHead {
  readonly head: Head;
  readonly fault: StreamFault | undefined;
  /** Set if it may be used again. */
  readonly memo: HeadMemo | undefined;
  /** The index of the value that differs; undefined without one. */
  readonly syncAt: number | undefined;
}

const UNREADABLE: Head = {
  ...{ method: "", target: "", httpVersion: "1.1", rawHeaders: [] },
  framing: {
    ...{ hostCount: 1, authorizationCount: 0, expect: undefined, connection: undefined },
    ...{ contentLength: undefined, transferEncoding: undefined, contentEncoding: undefined },
  },
};

/** Reads a head from the bytes of its frame. `isKept`: it may be used again. */
export function readReceivedHead(
  bytes: Buffer,
  { headerBytesMax, isKept }: { readonly headerBytesMax: number; readonly isKept: boolean },
): ReceivedHead {
  const reader = new HeadReader(headerBytesMax);
  const head = reader.read(bytes, 0) ?? "malformed";
  if (typeof head === "string") return refused(head);
  if (head.method === "CONNECT") return refused("tunnel");
  const { contentLength, transferEncoding, expect } = head.framing;
  const hasFraming = contentLength !== undefined || transferEncoding !== undefined || expect !== undefined;
  if (reader.end !== bytes.length || hasFraming) return refused("malformed");
  const syncAt = isKept ? syncTokenAt(head.rawHeaders) : undefined;
  return { head, fault: undefined, memo: isKept ? { learnt: undefined } : undefined, syncAt };
}

function refused(fault: StreamFault): ReceivedHead {
  return { head: UNREADABLE, fault, memo: undefined, syncAt: undefined };
}
