/**
 * Where a published URL is called: what the text of the URL, the policy and
 * the outbound map say before any name is resolved.
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
  /** The host as texts name it: with its port where that is not the usual one. */
  readonly label: string;
  readonly isSecure: boolean;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** Origin for the HTTP client, which makes the Host header from it. */
  readonly clientOrigin: string;
  /** The host's place in the outbound map: its address is called over plain http, unchecked. */
  readonly mapping: OutboundMapping | undefined;
  /** The host is an address: no look-up would ever be asked about it (C-05). */
  readonly isLiteral: boolean;
}

/** A target, or why there is none as one sentence. */
export type TargetReading = { readonly target: Target } | { readonly refusal: string };

/** Messages mostly go to the same URLs again; reading one costs a microsecond. */
const READINGS_MAX = 1_024;

/** A URL forgets that its query is there and empty; its text does not. */
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
      reading = this.#readAnew(text);
      if (this.#readings.size >= READINGS_MAX) this.#readings.clear();
      this.#readings.set(text, reading);
    }
    return reading;
  }

  /** Why `url` would be refused before a look-up, or undefined: for whoever accepts a message. */
  refusalOf(url: URL): string | undefined {
    return this.#map.find(plainHost(url)) === undefined ? this.#policy.refusalOf(url) : shapeRefusalOf(url);
  }

  #readAnew(text: string): TargetReading {
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
