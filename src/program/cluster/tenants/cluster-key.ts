/**
 * The key of a cluster, with which the secrets of tenants that were made at run
 * time are sealed in PostgreSQL. Nodes have it from their environment; the tables
 * have a check value, by which a node with another key is known.
 *
 *     sealed: 1, nonce (12 bytes), AES-256-GCM of the secrets as JSON, tag (16 bytes)
 *
 * (1) The associated data names the area, the tenant and the version of its row: so
 *     the bytes of another row, or of the same row before a change, are refused.
 * (2) The keys of sealing and of the check value are derived, also from the id of
 *     the cluster: neither reveals the other.
 */
import { createCipheriv, createDecipheriv, hkdfSync, timingSafeEqual } from "node:crypto";
import { parseJsonText } from "../../../kernel/json/parse.ts";
import { secretBytes } from "../../../kernel/random.ts";
import type { AreaName } from "../../areas/area.ts";

const CIPHER = "aes-256-gcm";
const FORM = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

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
    const derive = (purpose: string): Buffer => Buffer.from(hkdfSync("sha256", key, cluster, purpose, KEY_BYTES)); // keeps (2)
    this.#check = derive("larder cluster key check 1");
    this.#sealing = derive("larder tenants 1");
  }

  /** What the tables have of it. */
  get check(): Buffer {
    return this.#check;
  }

  /** Whether a check value is that of this key. */
  isChecked(check: Buffer): boolean {
    return check.length === KEY_BYTES && timingSafeEqual(check, this.#check);
  }

  seal(secrets: TenantSecrets, place: SealedPlace): Buffer {
    const nonce = secretBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#sealing, nonce).setAAD(associated(place));
    const text = Buffer.concat([cipher.update(JSON.stringify(secrets), "utf8"), cipher.final()]);
    return Buffer.concat([Buffer.of(FORM), nonce, text, cipher.getAuthTag()]);
  }

  /** Undefined if the bytes were not sealed for this place with this key. */
  open(sealed: Buffer, place: SealedPlace): TenantSecrets | undefined {
    if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORM) return undefined;
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#sealing, nonce, { authTagLength: TAG_BYTES })
      .setAAD(associated(place))
      .setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    try {
      const text = [decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES)), decipher.final()];
      return secretsIn(Buffer.concat(text).toString("utf8"));
    } catch {
      return undefined; // The reason of a cipher says nothing more.
    }
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
  for (let start = 0; start + KEY_BYTES <= checks.length; start += KEY_BYTES)
    if (checks.subarray(start, start + KEY_BYTES).equals(check)) return true;
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
