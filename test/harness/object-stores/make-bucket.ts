/** Makes a bucket in a real server. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { systemClock } from "../../../src/kernel/clock.ts";
import { loadSign } from "../../../src/replication/objects/s3/signing.ts";
import type { StoreServer } from "./server-process.ts";

export async function makeBucket({ query, credentials }: StoreServer, bucket: string): Promise<void> {
  const url = `${new URLSearchParams(query).get("endpoint")}/${bucket}`;
  const sign = await loadSign();
  const headers = await sign(
    { method: "PUT", url, headers: {}, bodyHash: createHash("sha256").digest("hex") },
    {
      credentials: {
        accessKeyId: credentials["AWS_ACCESS_KEY_ID"] ?? "",
        secretAccessKey: credentials["AWS_SECRET_ACCESS_KEY"] ?? "",
        sessionToken: undefined,
      },
      region: "us-east-1",
      nowMs: systemClock.nowMs(),
    },
  );
  const { status } = await fetch(url, { method: "PUT", headers });
  assert.equal(status, 200);
}
