/**
 * The key with which the secrets of a data directory are sealed in its copy, in the form
 * of `kernel/sealing.ts`.
 *
 * The associated data has the id of the data directory: the secrets of another one
 * are refused. The key that seals is derived, so the same text may have other uses.
 */
import { hkdfSync } from "node:crypto";
import { openSealed, SEALING_KEY_BYTES, seal } from "../kernel/sealing.ts";

/** The length of the secret, from which the key that seals is derived. */
const SECRET_BYTES = 32;

export class CopyKey {
  readonly #key: Buffer;

  /** `text`: 32 bytes in base64. Throws a `RangeError` for another text, which does not have the text in it. */
  constructor(text: string) {
    const secret = Buffer.from(text, "base64");
    if (secret.length !== SECRET_BYTES || secret.toString("base64") !== text)
      throw new RangeError("The key of a copy is 32 bytes in base64. Make one with: openssl rand -base64 32");
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "larder copy tokens 1", SEALING_KEY_BYTES));
  }

  /** `directory`: the id of the data directory. */
  seal(bytes: Uint8Array, directory: string): Buffer {
    return seal(bytes, { key: this.#key, associated: Buffer.from(directory) });
  }

  /** Undefined if the bytes were not sealed for this data directory with this key. */
  open(sealed: Buffer, directory: string): Buffer | undefined {
    return openSealed(sealed, { key: this.#key, associated: Buffer.from(directory) });
  }
}
