/**
 * Who may come in: tokens, looked up without leaking anything about them.
 *
 * (1) The table holds no token. A token stands in it as its HMAC-SHA256 under a
 *     key that is drawn at start-up and known to nobody. Only the headers that
 *     came lately, in the cache, hold tokens.
 * (2) The time of a look-up says nothing about the tokens in the table. The
 *     table is a Map from that digest to what the token opens. A caller who
 *     measures how far two digests agree learns nothing, because without the key
 *     nobody can tell which digest a guess has, let alone steer it. That gives
 *     what comparing with every token in constant time gives (threats A-01), at
 *     a cost that does not grow with the number of databases.
 * (3) A token that was removed is refused from that moment on: every change
 *     empties the cache.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type Bytes, bytesFromText } from "../kernel/bytes.ts";

export type Access = "standard" | "read-only";

/** What a token opens. The object is the identity of the token: each token has its own. */
export interface Grant {
  /** The database, index or user that the token names. */
  readonly tenant: string;
  readonly access: Access;
}

export interface TokenFor {
  readonly token: string;
  readonly access: Access;
}

interface Entry {
  readonly digest: Buffer;
  readonly grant: Grant;
}

/** Header values whose grant is remembered, so that a busy token is not hashed for each request. */
const CACHED_HEADERS_MAX = 1_024;

export class TokenTable {
  readonly #key: Uint8Array;
  readonly #entries = new Map<string, Entry>();
  /**
   * Authorization header to grant, valid tokens only, so that guessing cannot push others out. V8 compares the
   * characters of two strings only when their hashes, seeded per process, are equal: keeps (2).
   */
  readonly #cache = new Map<string, Grant>();
  /** Told of each token that is no longer good, by its grant: for what it has opened and that is still open. */
  onRemoved: ((grant: Grant) => void) | undefined;

  /** `key` is at least 16 bytes that nobody can guess; a fresh one for each start. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Adds a token. Throws when it already opens something else. */
  add(token: string, grant: Grant): void {
    const digest = this.#digestOf(bytesFromText(token));
    const known = this.#entries.get(digest.latin1Slice());
    if (known !== undefined && (known.grant.tenant !== grant.tenant || known.grant.access !== grant.access))
      throw new Error(`Two tokens are the same: one of ${known.grant.tenant} and one of ${grant.tenant}`);
    this.#entries.set(digest.latin1Slice(), { digest, grant: { tenant: grant.tenant, access: grant.access } });
    this.#cache.clear(); // keeps (3)
  }

  /** Removes one token; false when it is not in the table. */
  remove(token: string): boolean {
    this.#cache.clear(); // keeps (3)
    const name = this.#digestOf(bytesFromText(token)).latin1Slice();
    const entry = this.#entries.get(name);
    if (entry === undefined) return false;
    this.#entries.delete(name);
    this.onRemoved?.(entry.grant);
    return true;
  }

  /** Removes every token of a tenant and returns how many there were. */
  removeTenant(tenant: string): number {
    let count = 0;
    for (const [name, { grant }] of this.#entries) {
      if (grant.tenant !== tenant) continue;
      this.#entries.delete(name);
      this.onRemoved?.(grant);
      count += 1;
    }
    this.#cache.clear(); // keeps (3)
    return count;
  }

  /** Password reset: the tenant's tokens are these and no others, from now on (service.md Authentication, Area A, 4). */
  replaceTenant(tenant: string, tokens: readonly TokenFor[]): void {
    this.removeTenant(tenant);
    for (const { token, access } of tokens) this.add(token, { tenant, access });
  }

  /** What the presented token opens. */
  find(token: Bytes): Grant | undefined {
    const digest = this.#digestOf(token);
    const entry = this.#entries.get(digest.latin1Slice());
    return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.grant : undefined;
  }

  /** What an Authorization header opens: `Bearer <token>`, the scheme in any case. */
  findByHeader(value: string): Grant | undefined {
    const cached = this.#cache.get(value);
    if (cached !== undefined) return cached;
    const token = BEARER.exec(value)?.[1];
    const grant = token === undefined ? undefined : this.find(token);
    if (grant !== undefined) {
      if (this.#cache.size >= CACHED_HEADERS_MAX) this.#cache.clear();
      this.#cache.set(value, grant);
    }
    return grant;
  }

  #digestOf(token: Bytes): Buffer {
    return createHmac("sha256", this.#key).update(token, "latin1").digest();
  }
}

/** Header values arrive as bytes, so a token outside ASCII is compared byte by byte too. */
const BEARER = /^bearer +([^ ]+) *$/i;
