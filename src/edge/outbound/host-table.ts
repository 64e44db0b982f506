/**
 * Host patterns in settings: a name, an address, or `*.suffix` for every name
 * below a suffix; and a table that finds the row of a host.
 *
 * An exact row wins over a suffix, a longer suffix over a shorter one. A
 * suffix does not match its own name: `*.a.test` is not `a.test`.
 */
import { isIP } from "node:net";

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/i;

/** A name whose last part is a number is a misspelt address, not a host name. */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text) && !/(^|\.)\d+$/.test(text);
}

/** A host name, an IP address without brackets, or `*.suffix`. */
export function isHostPattern(text: string): boolean {
  return isIP(text) !== 0 || isHostName(text.startsWith("*.") ? text.slice(2) : text);
}

/** The host of a URL for tables and look-ups: no brackets around IPv6, no dot at the end. */
export function plainHost(url: URL): string {
  const host = url.hostname;
  if (host.startsWith("[")) return host.slice(1, -1);
  return host.length > 1 && host.endsWith(".") ? host.slice(0, -1) : host;
}

export class HostTable<Value> {
  readonly #byName = new Map<string, Value>();
  /** Keys are suffixes without `*.`. */
  readonly #bySuffix = new Map<string, Value>();

  /** Rows of a pattern in lower case and its value; the last of two rows with one pattern wins. */
  constructor(rows: Iterable<readonly [string, Value]>) {
    for (const [pattern, value] of rows) {
      if (pattern.startsWith("*.")) this.#bySuffix.set(pattern.slice(2), value);
      else this.#byName.set(pattern, value);
    }
  }

  /** `host`: in lower case, from `plainHost`. */
  find(host: string): Value | undefined {
    const exact = this.#byName.get(host);
    if (exact !== undefined || this.#bySuffix.size === 0) return exact;
    for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
      const found = this.#bySuffix.get(host.slice(dot + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
