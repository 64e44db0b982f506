/**
 * What makes a request one that a node of the cluster has forwarded: a header with
 * the address of its client, the time, and an HMAC under the key of the cluster.
 *
 * (1) The HMAC covers the method, the target, the length of the body and every
 *     header that is forwarded, the token of the client among them. So a captured
 *     head is valid for no other request, no other client, and not for long.
 * (2) An attacker who captures a head has the token of the client, and may send
 *     the same request as that client. So heads that were used are not
 *     remembered.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** The header, which is never forwarded itself. */
export const FORWARDED = "larder-forwarded";
const FORWARDED_NAME = "Larder-Forwarded";

/** Nodes whose clocks differ by more than this take over nothing either, so a signature need not be valid for longer. */
export const SIGNATURE_MS_MAX = 30_000;

/** Raised with each change of what is signed. */
const VERSION = "1";

/** The client of a forwarded request. */
export interface Caller {
  /** Without its port. */
  readonly address: string;
  readonly port: number;
}

/** The client of a request that only asks whether a node serves the area: no address of a client. */
export const PROBE: Caller = { address: "probe", port: 0 };

/** The client of a request that asks whether a node serves one of several shards of the area. */
export function probeOf(shard: number): Caller {
  return { ...PROBE, port: shard };
}

const TUNNEL = "larder-resp:";
const TUNNEL_SHAPE = /^larder-resp:(\d{1,9})$/;

/** The target of a CONNECT request for the RESP clients of a shard. */
export function tunnelTo(shard: number): string {
  return `${TUNNEL}${shard}`;
}

/** The shard of such a target, or undefined. */
export function shardOfTunnel(target: string): number | undefined {
  const [, shard] = TUNNEL_SHAPE.exec(target) ?? [];
  return shard === undefined ? undefined : Number(shard);
}

/** What is signed of a request, besides its client and the time. */
export interface SignedHead {
  readonly method: string;
  readonly target: string;
  /** As they were sent, in order: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  readonly bodyBytes: number;
}

/** The headers of one connection (RFC 9110 section 7.6.1), and those that the HTTP client writes itself. */
const OF_A_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  FORWARDED,
]);

/** The headers that pass through a node: name, value, name, value, … */
export function endToEnd(rawHeaders: readonly string[]): string[] {
  const named = namedByConnection(rawHeaders);
  const kept: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const lower = name.toLowerCase();
    if (!OF_A_CONNECTION.has(lower) && !named.includes(lower)) kept.push(name, rawHeaders[i + 1] as string);
  }
  return kept;
}

/** Names in the values of Connection, which may be several headers: such as that of a header of one proxy. */
function namedByConnection(rawHeaders: readonly string[]): readonly string[] {
  const named: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if ((rawHeaders[i] as string).toLowerCase() === "connection")
      named.push(...(rawHeaders[i + 1] as string).split(",").map((name) => name.trim().toLowerCase()));
  return named;
}

/** The value of the first header of this name, in lower case. */
export function findHeader(rawHeaders: readonly string[], name: string): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === name) return rawHeaders[i + 1];
  return undefined;
}

/** Name and value of the header. `head.rawHeaders` are those that are forwarded. */
export function signatureOf(
  key: Uint8Array,
  head: SignedHead,
  { caller, sentMs }: { readonly caller: Caller; readonly sentMs: number },
): readonly [name: string, value: string] {
  const facts = `${VERSION};${sentMs};${caller.port};${caller.address}`;
  return [FORWARDED_NAME, `${facts};${hmacOf(key, head, facts).toString("base64url")}`];
}

const SHAPE = /^(1;(\d{1,15});(\d{1,5});([^;]{0,64}));([\w-]{43})$/;

/** The client of a request that was signed with the key and not long ago; undefined: no node of the cluster sent it. */
export function readSignature(
  key: Uint8Array,
  head: SignedHead,
  { value, nowMs }: { readonly value: string | undefined; readonly nowMs: number },
): Caller | undefined {
  const [, facts = "", sentMs, port, address = "", mac = ""] = SHAPE.exec(value ?? "") ?? [];
  if (mac === "" || Math.abs(nowMs - Number(sentMs)) > SIGNATURE_MS_MAX) return undefined;
  if (!timingSafeEqual(hmacOf(key, head, facts), Buffer.from(mac, "base64url"))) return undefined;
  return { address, port: Number(port) };
}

/** keeps (1). No part has a line break, so the text has one meaning. */
function hmacOf(key: Uint8Array, { method, target, rawHeaders, bodyBytes }: SignedHead, facts: string): Buffer {
  let host = "";
  let lines = "";
  const headers = endToEnd(rawHeaders);
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase();
    // A client of HTTP writes Host first, wherever it was.
    if (name === "host") host = headers[i + 1] as string;
    else lines += `\n${name}:${headers[i + 1]}`;
  }
  return createHmac("sha256", key)
    .update(`${facts}\n${method} ${target}\n${bodyBytes}\n${host}${lines}`, "latin1")
    .digest();
}
