/**
 * The head of a request that one node forwards to another: the headers of its
 * client that pass, and one of larder's own, which has the client's address.
 *
 * (1) The header is believed because of the connection: only nodes of the cluster
 *     can open one (edge/http/shared-key.ts). On any other port it means nothing.
 * (2) The header of a client is never forwarded, and the area of the owner never sees
 *     the header at all, or a message could pass it on to its destination.
 */

/** The header in lower case. */
export const FORWARDED = "larder-forwarded";
const FORWARDED_NAME = "Larder-Forwarded";

/** Raised with each change of the value. */
const VERSION = "2";

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

/** The headers that pass through a node: name, value, name, value, … keeps (2) */
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

/** The headers of a forwarded request, by those of its client: name, value, name, value, … */
export function forwardedHeaders(rawHeaders: readonly string[], { address, port }: Caller): readonly string[] {
  return [...endToEnd(rawHeaders), FORWARDED_NAME, `${VERSION};${port};${address}`];
}

/** The headers of a forwarded request that are those of its client. keeps (2) */
export function withoutForwarded(rawHeaders: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== FORWARDED.length || name.toLowerCase() !== FORWARDED)
      kept.push(name, rawHeaders[i + 1] as string);
  }
  return kept;
}

const SHAPE = /^2;(\d{1,5});([^;]{0,64})$/;

/** The client of a request, by the value of the header; undefined: no node has forwarded it. */
export function readForwarded(value: string | undefined): Caller | undefined {
  const [, port, address = ""] = SHAPE.exec(value ?? "") ?? [];
  return port === undefined ? undefined : { address, port: Number(port) };
}

/** The value of the first header of this name, in lower case. */
export function findHeader(rawHeaders: readonly string[], name: string): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === name) return rawHeaders[i + 1];
  return undefined;
}
