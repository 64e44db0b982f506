/**
 * Secrets at rest, in files and in PostgreSQL.
 *
 *     sealed: 1, nonce (12 bytes), AES-256-GCM of the bytes, tag (16 bytes)
 *
 * The associated data says where the bytes belong. It is not stored: a reader has it,
 * and bytes of another place do not open.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { secretBytes } from "./random.ts";

const CIPHER = "aes-256-gcm";
const FORM = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The length of a key. */
export const SEALING_KEY_BYTES = 32;

export interface Sealing {
  /** `SEALING_KEY_BYTES` bytes. */
  readonly key: Buffer;
  readonly associated: Buffer;
}

/** Two calls with the same bytes give different ones. */
export function seal(bytes: Uint8Array, { key, associated }: Sealing): Buffer {
  const nonce = secretBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(associated);
  return Buffer.concat([Buffer.of(FORM), nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined if the bytes were not sealed with this key and associated data. */
export function openSealed(sealed: Buffer, { key, associated }: Sealing): Buffer | undefined {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORM) return undefined;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(associated)
    .setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const bytes = decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES));
  try {
    return Buffer.concat([bytes, decipher.final()]);
  } catch {
    return undefined; // The reason of a cipher says nothing more.
  }
}
