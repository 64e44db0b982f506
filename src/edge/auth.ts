/**
 * Who may come in: tokens, looked up without leaking anything about them.
 *
 * (1) The table holds no token. A token stands in it as the HMAC-SHA256 of its
 *     SHA-256 under a key that is drawn at start-up and known to nobody. So a
 *     token can be added by whoever knows its SHA-256 alone, and a SHA-256 that
 *     leaks opens nothing. Only the headers that came lately, in the cache, hold
 *     tokens.
 * (2) The time of a look-up says nothing about the tokens in the table. The
 *     table is a Map from that digest to what the token opens. A caller who
 *     measures how far two digests agree learns nothing, because without the key
 *     nobody can tell which digest a guess has, let alone steer it. That gives
 *     what comparing with every token in constant time gives (threats A-01), at
 *     a cost that does not grow with the number of databases.
 * (3) A token that was removed is refused from that moment on: every change
 *     empties the cache, and whoever holds something open for it is told.
 * (4) A tenant has default tokens, which its operator sets, and tokens of users,
 *     which its own commands make. Setting the ones leaves the others alone.
 * (5) A token opens the same grant, the same object, as long as it is good.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { type Bytes, bufferFrom, bytesFromText } from "../kernel/bytes.ts";

export type DefaultAccess = "standard" | "read-only";

/** `acl`: what the user may do at that moment. */
export type Access = DefaultAccess | "acl";

/** What a token opens. The object is the identity of the token: each token has its own. */
export type Grant = DefaultGrant | UserGrant;

export interface DefaultGrant {
  /** The database, index or user of messaging that the token names. */
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

export interface TokenFor {
  readonly token: string;
  readonly access: DefaultAccess;
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
  /** Tenant to user to the entries of that user: those of `#entries` whose access is `acl`, and no others. */
  readonly #byUser = new Map<string, Map<Bytes, Set<string>>>();
  /**
   * Authorization header to grant, valid tokens only, so that guessing cannot push others out. V8 compares the
   * characters of two strings only when their hashes, seeded per process, are equal: keeps (2).
   */
  readonly #cache = new Map<string, Grant>();
  readonly #listeners = new Set<(grant: Grant) => void>();

  /** `key` is at least 16 bytes that nobody can guess; a fresh one for each start. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /**
   * Tells `listener` of each token that is no longer good, by its grant, at the moment when it stops to be: for what it has
   * opened and that is still open. The returned function ends that.
   */
  onRemoved(listener: (grant: Grant) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Adds a token. Throws when it already opens something else. */
  add(token: string, { tenant, access }: DefaultGrant): void {
    const entry: Entry = { digest: this.#digestOfToken(bytesFromText(token)), grant: { tenant, access } };
    const known = this.#entries.get(entry.digest.latin1Slice())?.grant;
    if (known !== undefined && (known.tenant !== tenant || known.access !== access))
      throw sameToken(known, entry.grant);
    this.#put(entry);
  }

  /** Removes one token; false when it is not in the table. */
  remove(token: string): boolean {
    return this.#delete(this.#digestOfToken(bytesFromText(token)).latin1Slice());
  }

  /** Removes every token of a tenant, its users' too, and returns how many there were. */
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
   * Password reset: the default tokens of the tenant are these and no others, all at once, from now on (A.token-reset,
   * H.revoked). keeps (4). Throws when one opens something else, and then nothing has changed.
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
   * Makes the tokens of a user these and no others: the lower-case hex SHA-256 of each. keeps (4). A token that opens
   * something else already goes on doing that: a user who may choose a token must not get hold of another's, nor stop it.
   */
  replaceUser({ tenant, user }: Pick<UserGrant, "tenant" | "user">, tokenDigests: readonly string[]): void {
    const wanted = new Map<string, Entry>();
    for (const hex of tokenDigests) {
      const digest = this.#digestOf(Buffer.from(hex, "hex"));
      wanted.set(digest.latin1Slice(), { digest, grant: { tenant, access: "acl", user } });
    }
    for (const name of [...(this.#byUser.get(tenant)?.get(user) ?? [])]) if (!wanted.has(name)) this.#delete(name);
    for (const entry of wanted.values()) this.#put(entry);
  }

  /** What the presented token opens. */
  find(token: Bytes): Grant | undefined {
    const digest = this.#digestOfToken(token);
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

  /** Adds an entry unless there is one: keeps (5). */
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
    if (grant.access === "acl") this.#forgetOfUser(grant, name);
    for (const listener of [...this.#listeners]) listener(grant);
    return true;
  }

  #forgetOfUser({ tenant, user }: UserGrant, name: string): void {
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

/** Header values arrive as bytes, so a token outside ASCII is compared byte by byte too. */
const BEARER = /^bearer +([^ ]+) *$/i;
