import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../../../../test/harness/free-port.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { parseAddress } from "../../../replication/objects/address.ts";
import { contentOf, type ObjectStore } from "../../../replication/objects/object-store.ts";
import { openObjectStore } from "./open-store.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-open-store-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));

function open(
  text: string,
  access: "read" | "write",
  environment: Readonly<Record<string, string>> = {},
): Promise<ObjectStore> {
  const address = parseAddress(text, { setting: "--replicate", environment });
  const clock = new VirtualClock();
  // Pauses take no time.
  const onRetry = (_: unknown, pauseMs: number): void => void setImmediate(() => clock.advance(pauseMs));
  return openObjectStore(address, { environment, clock, random: seededRandom(1), access, onRetry });
}

test("a directory is opened by its address", async () => {
  const store = await open(`file://${folder}`, "write");
  assert.equal(await store.putNew("a/b", contentOf(Buffer.from("one"))), "stored");
  assert.deepEqual(readdirSync(folder, { recursive: true }).sort(), ["a.d", "a.d/b"]);
  await store.close();
});

test("a directory that does not exist, or is a file, is refused", async () => {
  await assert.rejects(open(`file://${folder}/none`, "write"), {
    kind: "refused",
    message: `${folder}/none: the directory does not exist: create it, or mount its disk`,
  });
  writeFileSync(join(folder, "file"), "");
  await assert.rejects(open(`file://${folder}/file`, "read"), { kind: "refused", message: /it is not a directory$/ });
});

test("a bucket without credentials is refused", async () => {
  const none = join(folder, "none");
  const environment = { AWS_SHARED_CREDENTIALS_FILE: none, AWS_CONFIG_FILE: none };
  await assert.rejects(open("s3://bucket?endpoint=http://127.0.0.1:1", "write", environment), {
    kind: "refused",
    message: /^No credentials were found: .* does not exist; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
  });
});

test("while the store is away a bucket is opened, and the first call fails", async () => {
  const environment = { AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "B" };
  const store = await open(`s3://bucket?endpoint=http://127.0.0.1:${await freePort()}`, "write", environment);
  await assert.rejects(store.putNew("a", contentOf(Buffer.from("one"))), {
    kind: "unavailable",
    message: /^s3:\/\/bucket, larder-check-[0-9a-f]{16}: the request failed: ECONNREFUSED$/,
  });
  await store.close();
});
