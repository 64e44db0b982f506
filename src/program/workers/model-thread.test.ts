/** With a test package in place of the real one, which is not installed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEmbedder, type LocalProvider } from "../../edge/embedding/local.ts";
import { startModelThread } from "./model-thread.ts";

const provider: LocalProvider = {
  directory: "/models/m",
  pooling: "mean",
  precision: "fp32",
  queryPrefix: "",
  documentPrefix: "",
};

/** The vector of a text is its length and 1. The text `crash` ends the thread. */
const plainPackage = `
  export const env = {};
  export const pipeline = async (task, model) => async (texts) => {
    if (texts.includes("crash")) process.exit(3);
    if (texts.includes("fail")) throw new Error("no such word in " + model);
    return { dims: [texts.length, 2], data: Float32Array.from(texts.flatMap((text) => [text.length, 1])) };
  };`;

function embedderWith(code: string, reasons: string[] = []): LocalEmbedder {
  const packageName = `data:text/javascript,${encodeURIComponent(code)}`;
  return new LocalEmbedder({
    model: "m",
    provider,
    dimension: 2,
    startThread: (events) => startModelThread(provider, events, packageName),
    onFailure: (reason) => reasons.push(reason),
  });
}

test("a model in a thread embeds, survives failures, and is restarted after its thread ended", async () => {
  const reasons: string[] = [];
  const embedder = embedderWith(plainPackage, reasons);
  await embedder.open();

  assert.deepEqual(await embedder.embed(["a", "abc"], "query"), [Float32Array.of(1, 1), Float32Array.of(3, 1)]);
  await assert.rejects(embedder.embed(["fail"], "query"), { kind: "unavailable" });
  assert.deepEqual(await embedder.embed(["ab"], "query"), [Float32Array.of(2, 1)]);
  await assert.rejects(embedder.embed(["crash"], "query"), { kind: "unavailable" });
  assert.deepEqual(await embedder.embed(["ab"], "query"), [Float32Array.of(2, 1)]);
  assert.deepEqual(reasons, ["no such word in m", "The thread of the model ended with code 3"]);

  await embedder.close();
});

test("a missing package is a failure to load", async () => {
  const reasons: string[] = [];
  const embedder = new LocalEmbedder({
    model: "m",
    provider,
    dimension: 2,
    startThread: (events) => startModelThread(provider, events, "larder-no-such-package"),
    onFailure: (reason) => reasons.push(reason),
  });
  await assert.rejects(embedder.open(), {
    kind: "unavailable",
    text: "The local model m could not be loaded; the log has the reason",
  });
  assert.match(reasons.join(), /Cannot find package 'larder-no-such-package'/);
  await embedder.close();
});
