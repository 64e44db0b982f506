/** The table of cases of object stores on real servers, through sockets and the real clock. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { systemRandom } from "../../src/kernel/random.ts";
import { fileDisk } from "../../src/persistence/disk/file-disk.ts";
import { openHttpClient } from "../../src/program/services/objects/http-client.ts";
import { openObjectStore } from "../../src/program/services/objects/open-store.ts";
import { parseAddress, type S3Address } from "../../src/replication/objects/address.ts";
import { contentOf, type ObjectStore } from "../../src/replication/objects/object-store.ts";
import { CredentialsSource } from "../../src/replication/objects/s3/credentials.ts";
import { S3Store } from "../../src/replication/objects/s3/s3-store.ts";
import { loadSign } from "../../src/replication/objects/s3/signing.ts";
import { makeBucket } from "../harness/object-stores/make-bucket.ts";
import { startMoto } from "../harness/object-stores/moto-process.ts";
import { RADOSGW_KMS_KEY, startRadosgw } from "../harness/object-stores/radosgw-process.ts";
import { STORE_DOMAIN, type StoreServer } from "../harness/object-stores/server-process.ts";
import { largeObjectCase, type StoreCase, storeCases } from "../harness/object-stores/store-suite.ts";
import { startSwift } from "../harness/object-stores/swift-process.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { loseAServer } from "./copy-on-store.ts";

const BUCKET = "larder";
const UNCONDITIONAL = "&conditional=no";
const UNCHECKED = "AWS4-HMAC-SHA256 Credential=larder/20260101/us-east-1/s3/aws4_request";
const ENCRYPTION = "x-amz-server-side-encryption";
/** Above the size of objects that are sent whole. */
const LARGE_BYTES = 17 * 1024 * 1024;
const LOST = "a server that is lost comes back from it by a restore and by a follower";

let caseCount = 0;

/** Each case has a prefix of its own. */
function openCase({ query, credentials }: StoreServer, parameters: string): Promise<ObjectStore> {
  caseCount += 1;
  const address = parseAddress(`s3://${BUCKET}/case%20${caseCount}${query}${parameters}`, {
    setting: "--replicate",
    environment: {},
  });
  return openObjectStore(address, {
    ...{ environment: credentials, clock: systemClock, random: systemRandom, access: "write" },
  });
}

async function runCases(
  context: TestContext,
  server: StoreServer,
  cases: readonly StoreCase[],
  parameters = "",
): Promise<void> {
  for (const { name, run } of cases) {
    await context.test(name, async () => {
      const store = await openCase(server, parameters);
      try {
        await run(store);
      } finally {
        await store.close();
      }
    });
  }
}

/** With the bucket in the host of requests, which go to loopback. */
async function openVirtual({ query, credentials }: StoreServer, parameters: string): Promise<S3Store> {
  const { host: loopback, port } = new URL(new URLSearchParams(query).get("endpoint") ?? "");
  const text = `s3://${BUCKET}/virtual?endpoint=http://${STORE_DOMAIN}:${port}&style=virtual${parameters}`;
  const { send, close } = openHttpClient();
  return new S3Store({
    address: parseAddress(text, { setting: "--replicate", environment: {} }) as S3Address,
    credentials: new CredentialsSource({ environment: credentials, disk: fileDisk, clock: systemClock }),
    sign: await loadSign(),
    clock: systemClock,
    random: systemRandom,
    closeConnections: close,
    send(request) {
      const { host } = new URL(request.url);
      return send({
        ...request,
        url: request.url.replace(host, loopback),
        headers: { ...request.headers, host },
      });
    },
  });
}

async function runVirtual(context: TestContext, server: StoreServer, parameters = ""): Promise<void> {
  await context.test("with the bucket in the host of requests", async () => {
    const store = await openVirtual(server, parameters);
    await storeCases[0]?.run(store);
    await store.close();
  });
}

test("radosgw does all that an object store must do", { skip: missingProgram("radosgw") }, async (context) => {
  const server = await startRadosgw();
  context.after(() => server.stop());
  await makeBucket(server, BUCKET);
  await runCases(context, server, [...storeCases, largeObjectCase]);
  await runVirtual(context, server);
  await context.test("objects, also large ones, are encrypted by the store if the address says so", async (subtest) => {
    const cases = [storeCases[0] as StoreCase, largeObjectCase];
    await runCases(subtest, server, cases, `&sse=aws:kms&kms-key-id=${RADOSGW_KMS_KEY}`);
    await assert.rejects(openCase(server, "&sse=aws:kms&kms-key-id=unknown"), { kind: "refused" });
  });
  await context.test(LOST, (subtest) => loseAServer(subtest, server, { bucket: BUCKET }));
});

test("moto keeps conditions of single writers, and the keys of encrypted objects", {
  skip: missingProgram("moto"),
}, async (context) => {
  const server = await startMoto();
  context.after(() => server.stop());
  await makeBucket(server, BUCKET);
  // Its threads look for the name and then take it, and it reads a plus in the start of a list as a space.
  const cases = storeCases.filter(({ name }) => !/many writers|every character/.test(name));
  await runCases(context, server, [...cases, largeObjectCase]);
  await runVirtual(context, server);
  await context.test("objects, also uploads in parts, have the key that the address names", async () => {
    const store = await openCase(server, "&sse=aws:kms&kms-key-id=a-key&conditional=no");
    await store.putNew("small", contentOf(Buffer.from("small")));
    await store.putNew("large", contentOf(Buffer.alloc(LARGE_BYTES)));
    await store.close();
    for (const name of ["small", "large"]) {
      // It wants a signature and does not check it.
      const url = `${new URLSearchParams(server.query).get("endpoint")}/${BUCKET}/case%20${caseCount}/${name}`;
      const { status, headers } = await fetch(url, { method: "HEAD", headers: { authorization: UNCHECKED } });
      const said = [status, headers.get(ENCRYPTION), headers.get(`${ENCRYPTION}-aws-kms-key-id`)];
      assert.deepEqual(said, [200, "aws:kms", "a-key"], name);
    }
  });
});

test("Swift does it without conditional writes", { skip: missingProgram("swift-proxy-server") }, async (context) => {
  const server = await startSwift();
  context.after(() => server.stop());
  await makeBucket(server, BUCKET);
  await context.test("and is refused if the address does not say so", async () => {
    const address = parseAddress(`s3://${BUCKET}${server.query}`, { setting: "--replicate", environment: {} });
    const environment = server.credentials;
    await assert.rejects(
      openObjectStore(address, { environment, clock: systemClock, random: systemRandom, access: "write" }),
      { kind: "refused", message: /the store has no conditional writes: .*add conditional=no to the address/ },
    );
  });
  // A thousand objects take Swift a minute and a half on two cores.
  const cases = storeCases.filter(({ name }) => !/many writers|a thousand/.test(name));
  await runCases(context, server, [...cases, largeObjectCase], UNCONDITIONAL);
  await runVirtual(context, server, UNCONDITIONAL);
  await context.test(LOST, (subtest) => loseAServer(subtest, server, { bucket: BUCKET, parameters: UNCONDITIONAL }));
});
