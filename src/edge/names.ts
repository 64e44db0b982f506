/**
 * The spellings of our names on the wire. The interface has `Service-Encoding` and
 * `service_token`; existing clients send `Upstash-Encoding`, `upstash_token` or
 * `qstash_token`. All are accepted everywhere, and so are the lower-case header
 * names as query keys (`service-retries`). Engines see names without a prefix.
 */

/** In lower case; the first is the interface's own and wins if both are present. */
export const headerPrefixes = ["service-", "upstash-"] as const;

export const parameterPrefixes = ["service_", "upstash_", "qstash_", ...headerPrefixes] as const;

/** `encoding` -> `service-encoding`, `upstash-encoding`. */
export function headerSpellings(name: string): string[] {
  return headerPrefixes.map((prefix) => prefix + name);
}

/** `upstash-retries` -> `retries`; undefined for a header that is not ours. `lowerName` is in lower case. */
export function unprefixedHeader(lowerName: string): string | undefined {
  return unprefixed(lowerName, headerPrefixes);
}

/** `qstash_token` -> `token`; undefined for a query parameter that is not ours. */
export function unprefixedParameter(name: string): string | undefined {
  return unprefixed(name, parameterPrefixes);
}

function unprefixed(name: string, prefixes: readonly string[]): string | undefined {
  for (const prefix of prefixes) {
    if (name.startsWith(prefix) && name.length > prefix.length) return name.slice(prefix.length);
  }
  return undefined;
}

/**
 * Finds a few header names among the many of a request. The length alone excludes
 * most of them.
 */
export class HeaderSet {
  readonly #byLength: (string[] | undefined)[] = [];

  /** `lowerNames` in lower case. */
  constructor(lowerNames: readonly string[]) {
    for (const name of lowerNames) {
      const sameLength = this.#byLength[name.length];
      if (sameLength === undefined) this.#byLength[name.length] = [name];
      else sameLength.push(name);
    }
  }

  /** The lower-case name if this header, in any case, is in the set. */
  find(rawName: string): string | undefined {
    const sameLength = this.#byLength[rawName.length];
    if (sameLength === undefined) return undefined;
    const lower = rawName.toLowerCase();
    return sameLength.includes(lower) ? lower : undefined;
  }
}
