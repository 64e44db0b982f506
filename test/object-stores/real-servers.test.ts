/** The table of cases of object stores on real servers, through sockets and the real clock. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { systemRandom } from "../../src/kernel/random.ts";
import { openObjectStore } from "../../src/program/services/objects/open-store.ts";
import { parseAddress } from "../../src/replication/objects/address.ts";
import { makeBucket } from "../harness/object-stores/make-bucket.ts";
import { startRadosgw } from "../harness/object-stores/radosgw-process.ts";
import type { StoreServer } from "../harness/object-stores/server-process.ts";
import { largeObjectCase, type StoreCase, storeCases } from "../harness/object-stores/store-suite.ts";
import { startSwift } from "../harness/object-stores/swift-process.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { loseAServer } from "./copy-on-store.ts";

const BUCKET = "larder";
const UNCONDITIONAL = "&conditional=no";
const LOST = "a server that is lost comes back from it by a restore and by a follower";

/** Each case has a prefix of its own. */
async function runCases(
  context: TestContext,
  server: StoreServer,
  cases: readonly StoreCase[],
  parameters = "",
): Promise<void> {
  for (const [index, { name, run }] of cases.entries()) {
    await context.test(name, async () => {
      const text = `s3://${BUCKET}/case ${index}`.replace(" ", "%20") + server.query + parameters;
      const address = parseAddress(text, { setting: "--replicate", environment: {} });
      const environment = server.credentials;
      const store = await openObjectStore(address, {
        environment,
        clock: systemClock,
        random: systemRandom,
        access: "write",
      });
      try {
        await run(store);
      } finally {
        await store.close();
      }
    });
  }
}

test("radosgw does all that an object store must do", { skip: missingProgram("radosgw") }, async (context) => {
  const server = await startRadosgw();
  context.after(() => server.stop());
  await makeBucket(server, BUCKET);
  await runCases(context, server, [...storeCases, largeObjectCase]);
  await context.test(LOST, (subtest) => loseAServer(subtest, server, { bucket: BUCKET }));
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
  await context.test(LOST, (subtest) => loseAServer(subtest, server, { bucket: BUCKET, parameters: UNCONDITIONAL }));
});
