/**
 * The key with which the secrets of a data directory are sealed in its copy.
 *
 *     sealed: 1, nonce (12 bytes), AES-256-GCM of the file, tag (16 bytes)
 *
 * The associated data has the id of the data directory: the secrets of another one
 * are refused. The key that seals is derived, so the same text may have other uses.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { secretBytes } from "../kernel/random.ts";

const CIPHER = "aes-256-gcm";
const FORM = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export class CopyKey {
  readonly #key: Buffer;

  /** `text`: 32 bytes in base64. Throws a `RangeError` for another text, which does not have the text in it. */
  constructor(text: string) {
    const secret = Buffer.from(text, "base64");
    if (secret.length !== KEY_BYTES || secret.toString("base64") !== text)
      throw new RangeError("The key of a copy is 32 bytes in base64. Make one with: openssl rand -base64 32");
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "larder copy tokens 1", KEY_BYTES));
  }

  /** `directory`: the id of the data directory. */
  seal(bytes: Uint8Array, directory: string): Buffer {
    const nonce = secretBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(directory));
    return Buffer.concat([Buffer.of(FORM), nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** Undefined if the bytes were not sealed for this data directory with this key. */
  open(sealed: Buffer, directory: string): Buffer | undefined {
    if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORM) return undefined;
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(directory))
      .setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    try {
      return Buffer.concat([
        decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES)),
        decipher.final(),
      ]);
    } catch {
      return undefined; // The reason of a cipher says nothing more.
    }
  }
}
