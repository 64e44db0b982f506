/**
 * Tokens, and their look-up without leaking anything about them.
 *
 * (1) The table contains no tokens, but for each token the HMAC-SHA256 of its
 *     SHA-256 under a secret key that is drawn at start-up. So a token can be added
 *     by its SHA-256 alone, and a leaked SHA-256 gives no access. Only recent
 *     headers, in the cache, contain tokens.
 * (2) The time of a look-up reveals nothing about the tokens in the table, which is
 *     a Map from HMACs to grants. An attacker who measures how far two HMACs agree
 *     learns nothing, because without the key the HMAC of a guess is unknown and
 *     cannot be chosen. This is as safe as a comparison with every token in
 *     constant time (threats A-01), at a cost that does not grow with the number of
 *     databases.
 * (3) A removed token is refused immediately: every change clears the cache, and
 *     listeners are notified.
 * (4) A tenant has default tokens, which its operator sets, and tokens of users,
 *     which its own commands create. A change of one kind does not affect the other.
 * (5) A token has the same grant, the same object, while it is valid.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { type Bytes, bufferFrom, bytesFromText } from "../kernel/bytes.ts";

export type DefaultAccess = "standard" | "read-only";

/** `acl`: the current rights of the user. */
export type Access = DefaultAccess | "acl";

/** The access of a token. The object is the identity of the token: each token has its own. */
export type Grant = DefaultGrant | UserGrant;

export interface DefaultGrant {
  /** The database, index or messaging user of the token. */
  readonly tenant: string;
  readonly access: DefaultAccess;
  readonly user?: undefined;
}

export interface UserGrant {
  readonly tenant: string;
  readonly access: "acl";
  /** The name of a user of the database. */
  readonly user: Bytes;
}

/** Whose token a request has, among the tokens of a table; `none`: it has no token. */
export type TokenOwner =
  | { readonly kind: "tenant"; readonly name: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "none" };

export function tokenOwnerOf(grant: Grant | undefined): TokenOwner {
  return grant === undefined ? { kind: "unknown" } : { kind: "tenant", name: grant.tenant };
}

export interface TokenFor {
  readonly token: string;
  readonly access: DefaultAccess;
}

interface Entry {
  readonly digest: Buffer;
  readonly grant: Grant;
}

/** Cached header values, so that a busy token is not hashed for each request. */
const CACHED_HEADERS_MAX = 1_024;

export class TokenTable {
  readonly #key: Uint8Array;
  readonly #entries = new Map<string, Entry>();
  /** Tenant to user to the names of the user's entries: exactly those of `#entries` with access `acl`. */
  readonly #byUser = new Map<string, Map<Bytes, Set<string>>>();
  /**
   * Authorization header to grant, only for valid tokens, so that guesses cannot evict others. V8 compares the
   * characters of two strings only if their hashes, seeded per process, are equal: keeps (2).
   */
  readonly #cache = new Map<string, Grant>();
  readonly #listeners = new Set<(grant: Grant) => void>();

  /** `key`: at least 16 random bytes, new at each start. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /**
   * Calls `listener` with the grant of each removed token, immediately, so that it can close what the token has opened.
   * The returned function removes the listener.
   */
  onRemoved(listener: (grant: Grant) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Adds a token. Throws if it already has another grant. */
  add(token: string, { tenant, access }: DefaultGrant): void {
    const entry: Entry = { digest: this.#digestOfToken(bytesFromText(token)), grant: { tenant, access } };
    const known = this.#entries.get(entry.digest.latin1Slice())?.grant;
    if (known !== undefined && (known.tenant !== tenant || known.access !== access))
      throw sameToken(known, entry.grant);
    this.#put(entry);
  }

  /** Removes one token; false if it is not in the table. */
  remove(token: string): boolean {
    return this.#delete(this.#digestOfToken(bytesFromText(token)).latin1Slice());
  }

  /** Removes every token of a tenant, including its users', and returns their number. */
  removeTenant(tenant: string): number {
    let count = 0;
    for (const [name, { grant }] of this.#entries) {
      if (grant.tenant !== tenant) continue;
      this.#delete(name);
      count += 1;
    }
    return count;
  }

  /**
   * Password reset: replaces all default tokens of the tenant at once (A.token-reset, H.revoked). keeps (4). Throws if
   * a token has another grant; then nothing is changed.
   */
  replaceTenant(tenant: string, tokens: readonly TokenFor[]): void {
    const added = new Map<string, Entry>();
    for (const { token, access } of tokens) {
      const entry: Entry = { digest: this.#digestOfToken(bytesFromText(token)), grant: { tenant, access } };
      const name = entry.digest.latin1Slice();
      const known = added.get(name) ?? this.#entries.get(name);
      const isReplaced = known?.grant.tenant === tenant && known.grant.access !== "acl" && !added.has(name);
      if (known !== undefined && !isReplaced) throw sameToken(known.grant, entry.grant);
      added.set(name, entry);
    }
    for (const [name, { grant }] of this.#entries) {
      if (grant.tenant !== tenant || grant.access === "acl") continue;
      if (added.get(name)?.grant.access !== grant.access) this.#delete(name);
    }
    for (const entry of added.values()) this.#put(entry);
  }

  /**
   * Replaces the tokens of a user, given as lower-case hex SHA-256. keeps (4). A token that already has another grant
   * keeps it: a user who may choose a token must neither take over nor revoke another's.
   */
  replaceUser({ tenant, user }: Pick<UserGrant, "tenant" | "user">, tokenDigests: readonly string[]): void {
    const added = new Map<string, Entry>();
    for (const hex of tokenDigests) {
      const digest = this.#digestOf(Buffer.from(hex, "hex"));
      added.set(digest.latin1Slice(), { digest, grant: { tenant, access: "acl", user } });
    }
    for (const name of [...(this.#byUser.get(tenant)?.get(user) ?? [])]) if (!added.has(name)) this.#delete(name);
    for (const entry of added.values()) this.#put(entry);
  }

  /** The grant of a token. */
  find(token: Bytes): Grant | undefined {
    const digest = this.#digestOfToken(token);
    const entry = this.#entries.get(digest.latin1Slice());
    return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.grant : undefined;
  }

  /** The grant of an Authorization header: `Bearer <token>`, with the scheme in any case. */
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

  /** Adds an entry unless the token has one: keeps (5). */
  #put(entry: Entry): void {
    const name = entry.digest.latin1Slice();
    if (this.#entries.has(name)) return;
    this.#entries.set(name, entry);
    this.#cache.clear(); // keeps (3)
    const { grant } = entry;
    if (grant.access !== "acl") return;
    const users = this.#byUser.get(grant.tenant) ?? new Map<Bytes, Set<string>>();
    const names = users.get(grant.user) ?? new Set<string>();
    this.#byUser.set(grant.tenant, users.set(grant.user, names.add(name)));
  }

  #delete(name: string): boolean {
    this.#cache.clear(); // keeps (3)
    const entry = this.#entries.get(name);
    if (entry === undefined) return false;
    const { grant } = entry;
    this.#entries.delete(name);
    if (grant.access === "acl") this.#removeOfUser(grant, name);
    for (const listener of [...this.#listeners]) listener(grant);
    return true;
  }

  #removeOfUser({ tenant, user }: UserGrant, name: string): void {
    const users = this.#byUser.get(tenant);
    const names = users?.get(user);
    names?.delete(name);
    if (names?.size === 0) users?.delete(user);
    if (users?.size === 0) this.#byUser.delete(tenant);
  }

  #digestOfToken(token: Bytes): Buffer {
    return this.#digestOf(hash("sha256", bufferFrom(token), "buffer"));
  }

  #digestOf(tokenDigest: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(tokenDigest).digest();
  }
}

function sameToken(known: Grant, added: Grant): Error {
  return new Error(`Two tokens are the same: one of ${known.tenant} and one of ${added.tenant}`);
}

/** Header values are bytes, so tokens outside ASCII are compared by bytes too. */
const BEARER = /^bearer +([^ ]+) *$/i;
