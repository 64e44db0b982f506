/**
 * The key of a cluster, with which the secrets of tenants that were made at run
 * time are sealed in PostgreSQL. Nodes have it from their environment; the tables
 * have a check value, by which a node with another key is known. What is sealed is
 * the secrets as JSON, in the form of `kernel/sealing.ts`.
 *
 * (1) The associated data names the area, the tenant and the version of its row: so
 *     the bytes of another row, or of the same row before a change, are refused.
 * (2) The keys of sealing and of the check value are derived, also from the id of
 *     the cluster: neither reveals the other.
 */
import { hkdfSync, timingSafeEqual } from "node:crypto";
import { parseJsonText } from "../../../kernel/json/parse.ts";
import { openSealed, SEALING_KEY_BYTES, seal } from "../../../kernel/sealing.ts";
import type { AreaName } from "../../areas/area.ts";

/** The length of a check value. */
const CHECK_BYTES = 32;

/** A row of a tenant: (1). */
export interface SealedPlace {
  readonly area: AreaName;
  readonly name: string;
  readonly version: number;
}

/** The tokens of a tenant, and the signing keys of a user of messaging. */
export interface TenantSecrets {
  readonly token: string;
  readonly readOnlyToken: string;
  readonly currentSigningKey?: string;
  readonly nextSigningKey?: string;
}

export class ClusterKey {
  readonly #check: Buffer;
  readonly #sealing: Buffer;

  /** `text`: 32 bytes in base64. `cluster`: the id of the cluster. */
  constructor(text: string, cluster: string) {
    const key = Buffer.from(text, "base64");
    // keeps (2)
    const derive = (purpose: string, bytes: number): Buffer =>
      Buffer.from(hkdfSync("sha256", key, cluster, purpose, bytes));
    this.#check = derive("larder cluster key check 1", CHECK_BYTES);
    this.#sealing = derive("larder tenants 1", SEALING_KEY_BYTES);
  }

  /** What the tables have of it. */
  get check(): Buffer {
    return this.#check;
  }

  /** Whether a check value is that of this key. */
  isChecked(check: Buffer): boolean {
    return check.length === CHECK_BYTES && timingSafeEqual(check, this.#check);
  }

  seal(secrets: TenantSecrets, place: SealedPlace): Buffer {
    return seal(Buffer.from(JSON.stringify(secrets)), { key: this.#sealing, associated: associated(place) });
  }

  /** Undefined if the bytes were not sealed for this place with this key. */
  open(sealed: Buffer, place: SealedPlace): TenantSecrets | undefined {
    const opened = openSealed(sealed, { key: this.#sealing, associated: associated(place) });
    return opened === undefined ? undefined : secretsIn(opened.toString("utf8"));
  }
}

/**
 * The keys that a node has: the one that the cluster has or is to get, and the one before, while the key is changed. What is
 * sealed with either is opened.
 */
export class ClusterKeys {
  readonly newest: ClusterKey;
  readonly former: ClusterKey | undefined;

  constructor(newest: ClusterKey, former?: ClusterKey) {
    this.newest = newest;
    this.former = former;
  }

  /** The check values of all, one after the other, as the row of a node has them. */
  get checks(): Buffer {
    return Buffer.concat([this.newest.check, ...(this.former === undefined ? [] : [this.former.check])]);
  }

  /** The key with this check value; undefined: this node does not have it. */
  find(check: Buffer): ClusterKey | undefined {
    return [this.newest, this.former].find((key) => key?.isChecked(check) === true);
  }

  /** Undefined if the bytes were not sealed for this place with one of the keys. */
  open(sealed: Buffer, place: SealedPlace): TenantSecrets | undefined {
    return this.newest.open(sealed, place) ?? this.former?.open(sealed, place);
  }
}

/** Whether the check values of a node, as `ClusterKeys.checks` gives them, have that of a key. */
export function hasCheck(checks: Buffer, check: Buffer): boolean {
  for (let start = 0; start + CHECK_BYTES <= checks.length; start += CHECK_BYTES)
    if (checks.subarray(start, start + CHECK_BYTES).equals(check)) return true;
  return false;
}

/** keeps (1) */
function associated({ area, name, version }: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([area, name, version]));
}

function secretsIn(text: string): TenantSecrets | undefined {
  const value: unknown = parseJsonText(text);
  if (typeof value !== "object" || value === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const textOf = (name: string): string | undefined => {
    const field = fields.get(name);
    return typeof field === "string" ? field : undefined;
  };
  const [token, readOnlyToken, currentSigningKey, nextSigningKey] = [
    "token",
    "readOnlyToken",
    "currentSigningKey",
    "nextSigningKey",
  ].map(textOf);
  if (token === undefined || readOnlyToken === undefined) return undefined;
  return {
    token,
    readOnlyToken,
    ...(currentSigningKey !== undefined && nextSigningKey !== undefined && { currentSigningKey, nextSigningKey }),
  };
}
