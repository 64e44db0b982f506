/** SHA-1, which Redis uses for names of scripts and digests of data. Not for security. */
import { createHash } from "node:crypto";
import type { Bytes } from "../bytes.ts";

export const SHA1_BYTES = 20;

export function sha1(data: Uint8Array | Bytes): Buffer {
  const hash = createHash("sha1");
  return typeof data === "string" ? hash.update(data, "latin1").digest() : hash.update(data).digest();
}
