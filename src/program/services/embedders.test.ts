import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "../../kernel/log.ts";
import { defaultIndex, developmentIndex, type IndexPlan } from "../settings/index-settings.ts";
import { openEmbedders } from "./embedders.ts";

const options = { log: silentLog, dimensionNow: () => undefined };

function plan(change: Partial<IndexPlan["definition"]>, by?: NonNullable<IndexPlan["embedding"]>["by"]): IndexPlan {
  return {
    definition: { ...defaultIndex.definition, ...change },
    embedding: by && { model: "m", by, isInline: true },
  };
}

test("an index without models has no embedders", async () => {
  const embedders = await openEmbedders(defaultIndex, options);
  assert.equal(embedders.dense, undefined);
  assert.equal(embedders.sparse, undefined);
  await embedders.close();
});

test("hashing stands in for the model of the development index, with the dimension that the index has", async () => {
  let dimension: number | undefined;
  const embedders = await openEmbedders(developmentIndex, { log: silentLog, dimensionNow: () => dimension });
  assert.equal(embedders.isStandIn, true);
  assert.equal((await embedders.dense?.embed(["a"], "query"))?.[0]?.length, 384);
  dimension = 8;
  assert.equal((await embedders.dense?.embed(["a"], "query"))?.[0]?.length, 8);
});

test("hashing and BM25 are built in", async () => {
  const index = plan({ type: "HYBRID", dimension: 8, sparseModel: "BM25" }, { provider: "hashing" });
  const embedders = await openEmbedders(index, options);

  const [vector] = (await embedders.dense?.embed(["a text"], "query")) ?? [];
  assert.equal(vector?.length, 8);
  assert.equal(embedders.sparse?.embed("a text", "query").indices.length, 1);
  await embedders.close();
});

test("calls no endpoint before there is a text", async () => {
  const index = plan(
    { dimension: 8 },
    {
      provider: "http",
      url: "http://127.0.0.1:1/",
      modelName: "m",
      timeoutMs: 1_000,
      textsPerRequestMax: 64,
      queryPrefix: "",
      documentPrefix: "",
    },
  );
  const embedders = await openEmbedders(index, options);
  assert.ok(embedders.dense);
  await embedders.close();
});

test("a local model that cannot be loaded fails the start with the name of its directory", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const by = {
    provider: "local",
    directory,
    pooling: "cls",
    precision: "fp32",
    queryPrefix: "",
    documentPrefix: "",
  } as const;
  await assert.rejects(openEmbedders(plan({}, by), options), {
    name: "StartRefusal",
    message: `The local model m could not be loaded; the log has the reason: check what is in ${directory}`,
  });
});
