/** One table of cases for all stores: the model, directories, and S3 on a server of our own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { allowanceOf } from "../../../test/budget.ts";
import { drawnPart } from "../../../test/harness/drawn-part.ts";
import { MemoryStore } from "../../../test/harness/object-stores/memory-store.ts";
import { s3On, WRITER } from "../../../test/harness/object-stores/opened-stores.ts";
import { largeObjectCase, storeCases } from "../../../test/harness/object-stores/store-suite.ts";
import { emptyDisk } from "../../../test/harness/persistence-fixture.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { FileStore } from "./file-store.ts";
import type { ObjectStore } from "./object-store.ts";
import { RetryingStore } from "./retrying.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-objects-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const clock = new VirtualClock();

const stores: readonly { readonly name: string; readonly open: () => Promise<ObjectStore>; readonly isS3?: true }[] = [
  { name: "the model", open: async () => new MemoryStore() },
  {
    name: "the model behind repetitions",
    open: async () => new RetryingStore(new MemoryStore(), { clock, random: seededRandom(1) }),
  },
  {
    name: "a directory",
    open: () =>
      FileStore.open({
        directory: mkdtempSync(join(folder, "store-")),
        disk: fileDisk,
        clock,
        process: WRITER,
        access: "write",
      }),
  },
  {
    name: "a directory of the simulated disk",
    open: async () =>
      FileStore.open({ directory: "/store", disk: await emptyDisk(), clock, process: WRITER, access: "write" }),
  },
  { name: "S3", open: async () => (await s3On({})).store, isS3: true },
  { name: "S3 with a prefix", open: async () => (await s3On({ prefix: "deep/pre fix+" })).store, isS3: true },
  { name: "S3 with buckets in hosts", open: async () => (await s3On({ style: "virtual" })).store, isS3: true },
  {
    name: "S3 with pages of 7 keys",
    open: async () => (await s3On({ server: { keysPerPage: 7 } })).store,
    isS3: true,
  },
  {
    name: "S3 whose uploads in parts ignore conditions",
    open: async () => (await s3On({ server: { uploadCondition: "ignored" } })).store,
    isS3: true,
  },
  {
    name: "S3 whose uploads in parts refuse conditions",
    open: async () => (await s3On({ server: { uploadCondition: "refused" } })).store,
    isS3: true,
  },
];

/** Cases that take long. Outside of a proof, a seed draws the stores with the interface of S3 that have them. */
const LONG = /20 MiB|a thousand/;
const withLong = drawnPart(
  stores.filter(({ isS3 = false }) => isS3),
  {
    oneIn: 3,
    random: seededRandom(seedFrom("LARDER_OBJECT_STORES_SEED")),
    drawsLess: !("count" in allowanceOf("object-stores")),
  },
);

for (const store of stores) {
  const { name: storeName, open, isS3 = false } = store;
  for (const { name, run } of isS3 ? [...storeCases, largeObjectCase] : storeCases) {
    if (isS3 && LONG.test(name) && !withLong.includes(store)) continue;
    test(`${storeName} ${name}`, async () => {
      const store = await open();
      await run(store);
      await store.close();
    });
  }
}

/** Without conditional writes one of many writers is no longer certain. */
test("S3 without conditional writes does the rest", async (context) => {
  for (const { name, run } of [...storeCases, largeObjectCase]) {
    if (/many writers|a thousand/.test(name)) continue;
    await context.test(name, async () => {
      const { store } = await s3On({
        isConditional: false,
        server: { putCondition: "ignored", uploadCondition: "ignored" },
      });
      await run(store);
    });
  }
});
