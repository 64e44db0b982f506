/** Checks that deliveries are signed, so that no subject is fast by omitting it. */
import { createHash, createHmac } from "node:crypto";

/** Throws unless the head has a signature of this body, for this URL, by this key. */
export function verifySample(sample: { head: string; body: Buffer; key: string; url: string }): void {
  const { head, body, key, url } = sample;
  const token = /\r\nupstash-signature: *(\S+)/i.exec(head)?.[1] ?? "";
  const [header = "", claims = "", signature = ""] = token.split(".");
  const expected = createHmac("sha256", key).update(`${header}.${claims}`).digest("base64url");
  if (signature !== expected) throw new Error(`a delivery is not signed by the key:\n${head}`);
  const said = JSON.parse(Buffer.from(claims, "base64url").toString()) as { sub: string; body: string };
  if (said.sub !== url) throw new Error(`a signature is for ${said.sub} and not for ${url}`);
  const bodyHash = createHash("sha256").update(body).digest("base64url");
  if (said.body.replace(/=+$/, "") !== bodyHash) throw new Error("a signature is for another body");
}
