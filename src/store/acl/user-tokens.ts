/**
 * Tokens of users for the HTTP interface. All derive from one secret of the
 * database, so none is stored:
 *
 *     ACL RESTTOKEN   HMAC(secret, purpose, name, SHA-256 of the password)
 *                     The same each time, and invalid once the password is.
 *     ACL GENTOKEN    salt ‖ HMAC(secret, purpose, name, salt)
 *                     Proves itself for this name, so it can be generated before the user exists. It is valid
 *                     once it is a password of the user.
 *
 * Names have no zero byte, so fields that end with one cannot run together.
 * In URL-safe base64, since a token may also be in `_token=`.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";

export const SECRET_BYTES = 32;
export const SALT_BYTES = 16;
const MAC_BYTES = 32;
/** 48 bytes in base64. */
const GENERATED_LENGTH = 64;

/** Used instead of the password hash for a user with `nopass`. */
export const ANY_PASSWORD = "any";

/** `hash`: SHA-256 of the password in hexadecimal digits, or `ANY_PASSWORD`. */
export function restTokenOf(secret: Uint8Array, name: Bytes, hash: string): string {
  return mac(secret, "rest token", [name, hash]).toString("base64url");
}

/** A salt of 16 random bytes. */
export function generatedToken(secret: Uint8Array, name: Bytes, salt: Uint8Array): string {
  return Buffer.concat([salt, generatedMac(secret, name, salt)]).toString("base64url");
}

/** A salt that is the same for the same name and password. */
export function saltOf(secret: Uint8Array, name: Bytes, password: Bytes): Uint8Array {
  return mac(secret, "salt", [name, password]).subarray(0, SALT_BYTES);
}

/** Whether this is a generated token for the user of this name. */
export function isGeneratedToken(secret: Uint8Array, name: Bytes, token: Bytes): boolean {
  if (token.length !== GENERATED_LENGTH || !/^[\w-]+$/.test(token)) return false;
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== SALT_BYTES + MAC_BYTES) return false;
  return timingSafeEqual(bytes.subarray(SALT_BYTES), generatedMac(secret, name, bytes.subarray(0, SALT_BYTES)));
}

/** SHA-256 of a token, in lower-case hexadecimal digits, which is what the edge gets. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function generatedMac(secret: Uint8Array, name: Bytes, salt: Uint8Array): Buffer {
  return mac(secret, "generated token", [name, Buffer.from(salt).latin1Slice()]);
}

function mac(secret: Uint8Array, purpose: string, fields: readonly Bytes[]): Buffer {
  const hmac = createHmac("sha256", secret).update(purpose);
  for (const field of fields) hmac.update("\0").update(bufferFrom(field));
  return hmac.digest();
}
