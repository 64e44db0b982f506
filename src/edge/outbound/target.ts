/**
 * The target of a published URL, from its text, the policy and the outbound map,
 * before any name is resolved.
 */
import { isIP } from "node:net";
import { type DestinationGuard, shapeRefusalOf } from "./destination-policy.ts";
import type { OutboundMap, OutboundMapping } from "./host-map.ts";
import { HostTable, plainHost } from "./host-table.ts";

export interface Target {
  /** Calls of one user to the same origin share connections. */
  readonly origin: string;
  /** Without brackets and without a dot at the end. */
  readonly host: string;
  /** The host in texts, with a port that is not the default. */
  readonly label: string;
  readonly isSecure: boolean;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** Origin for the HTTP client, which derives the Host header from it. */
  readonly clientOrigin: string;
  /** The host's row of the outbound map: its address is called over plain http, unchecked. */
  readonly mapping: OutboundMapping | undefined;
  /** The host is an address, which is never looked up (C-05). */
  readonly isLiteral: boolean;
}

/** A target, or the reason for its refusal as one sentence. */
export type TargetReading = { readonly target: Target } | { readonly refusal: string };

/** Size of a cache: most messages go to known URLs, and reading one costs a microsecond. */
const READINGS_MAX = 1_024;

/** Path and query with an empty query, which `URL.search` does not show. */
function pathOf({ href, origin, pathname, search }: URL): string {
  const isEmptyQuery = search === "" && href.startsWith("?", origin.length + pathname.length);
  return isEmptyQuery ? `${pathname}?` : pathname + search;
}

export class TargetReader {
  readonly #policy: DestinationGuard;
  readonly #map: HostTable<OutboundMapping>;
  readonly #readings = new Map<string, TargetReading>();

  constructor(policy: DestinationGuard, map: OutboundMap) {
    this.#policy = policy;
    this.#map = new HostTable(map.map((mapping) => [mapping.host, mapping]));
  }

  read(text: string): TargetReading {
    let reading = this.#readings.get(text);
    if (reading === undefined) {
      reading = this.#parse(text);
      if (this.#readings.size >= READINGS_MAX) this.#readings.clear();
      this.#readings.set(text, reading);
    }
    return reading;
  }

  /** Why a publish to `url` is refused, before a look-up, or undefined. */
  refusalOf(url: URL): string | undefined {
    return this.#map.find(plainHost(url)) === undefined ? this.#policy.refusalOf(url) : shapeRefusalOf(url);
  }

  #parse(text: string): TargetReading {
    const url = URL.parse(text);
    if (url === null) return { refusal: "The destination is not an absolute URL" };
    const refusal = this.refusalOf(url);
    if (refusal !== undefined) return { refusal };
    const host = plainHost(url);
    const mapping = this.#map.find(host);
    const isSecure = url.protocol === "https:" && mapping === undefined;
    const defaultPort = isSecure ? 443 : 80;
    return {
      target: {
        origin: url.origin,
        host,
        label: url.host,
        isSecure,
        port: mapping?.port ?? (url.port === "" ? defaultPort : Number(url.port)),
        path: pathOf(url),
        clientOrigin: `${isSecure ? "https" : "http"}://${url.host}`,
        mapping,
        isLiteral: isIP(host) !== 0,
      },
    };
  }
}
