import assert from "node:assert/strict";
import { test } from "node:test";
import type { VectorFailure } from "../../vector/mod.ts";
import { type FromModelThread, LocalEmbedder, type ModelThreadEvents, type ToModelThread } from "./local.ts";

/** The test plays the thread: `say` sends a message of the newest one. */
function setUp(change: { dimension?: number } = {}) {
  const posted: (readonly string[])[] = [];
  const reasons: string[] = [];
  const threads: ModelThreadEvents[] = [];
  let endedCount = 0;
  let called = Promise.withResolvers<void>();
  const noteCall = (): void => {
    called.resolve();
    called = Promise.withResolvers<void>();
  };
  const embedder = new LocalEmbedder({
    model: "BGE_M3",
    provider: {
      directory: "/m",
      pooling: "cls",
      precision: "fp32",
      queryPrefix: "query: ",
      documentPrefix: "passage: ",
    },
    dimension: change.dimension ?? 2,
    startThread: (events) => {
      threads.push(events);
      noteCall();
      return {
        post: ({ texts }: ToModelThread) => {
          posted.push(texts);
          noteCall();
        },
        end: async () => {
          endedCount += 1;
        },
      };
    },
    onFailure: (reason) => reasons.push(reason),
  });
  return {
    embedder,
    posted,
    reasons,
    threads,
    endedCount: () => endedCount,
    /** Resolves at the next start or message of the thread. */
    untilCalled: () => called.promise,
    say: (message: FromModelThread) => threads.at(-1)?.message(message),
    crash: (reason: string) => threads.at(-1)?.ended(reason),
  };
}

const ready = { kind: "ready" } as const;
const vectors = (...values: number[]): FromModelThread => ({
  kind: "vectors",
  vectors: values.map((value) => Float32Array.of(value, 0)),
});

async function failureOf(call: Promise<unknown>): Promise<string> {
  const failure = await call.then(
    () => assert.fail("it was not refused"),
    (thrown: VectorFailure) => thrown,
  );
  return `${failure.kind}: ${failure.text}`;
}

test("the first call starts the thread, and calls run one at a time", async () => {
  const { embedder, posted, threads, untilCalled, say } = setUp();
  const first = embedder.embed(["1", "2"], "document");
  const second = embedder.embed(["3"], "query");
  assert.equal(threads.length, 0);
  await untilCalled();

  let next = untilCalled();
  say(ready);
  await next;
  assert.deepEqual(posted, [["passage: 1", "passage: 2"]]);
  next = untilCalled();
  say(vectors(1, 2));
  assert.deepEqual(await first, [Float32Array.of(1, 0), Float32Array.of(2, 0)]);
  await next;
  assert.deepEqual(posted[1], ["query: 3"]);
  say(vectors(3));

  assert.deepEqual(await second, [Float32Array.of(3, 0)]);
  assert.equal(threads.length, 1);
});

test("names a model that cannot be loaded, and logs the reason", async () => {
  const { embedder, reasons, untilCalled, say, endedCount } = setUp();
  const opening = failureOf(embedder.open());
  await untilCalled();
  say({ kind: "failed", text: "no file /m/onnx/model.onnx" });

  assert.equal(await opening, "unavailable: The local model BGE_M3 could not be loaded; the log has the reason");
  assert.deepEqual(reasons, ["no file /m/onnx/model.onnx"]);
  assert.equal(endedCount(), 1);
});

test("starts another thread after a crash", async () => {
  const { embedder, reasons, threads, untilCalled, say, crash } = setUp();
  const opened = embedder.open();
  await untilCalled();
  say(ready);
  await opened;
  const failing = failureOf(embedder.embed(["1"], "query"));
  await untilCalled();
  crash("its heap is full");
  assert.equal(await failing, "unavailable: The local model BGE_M3 could not embed; the log has the reason");
  assert.deepEqual(reasons, ["its heap is full"]);

  const again = embedder.embed(["1"], "query");
  await untilCalled();
  const next = untilCalled();
  say(ready);
  await next;
  say(vectors(1));
  assert.deepEqual(await again, [Float32Array.of(1, 0)]);
  assert.equal(threads.length, 2);
});

test("refuses vectors of another dimension, or too few", async () => {
  const { embedder, untilCalled, say } = setUp({ dimension: 3 });
  const opened = embedder.open();
  await untilCalled();
  say(ready);
  await opened;

  let call = failureOf(embedder.embed(["1"], "query"));
  await untilCalled();
  say(vectors(1));
  assert.equal(await call, "unavailable: The local model BGE_M3 returned 2 dimensions, but the index has 3");

  call = failureOf(embedder.embed(["1", "2"], "query"));
  await untilCalled();
  say(vectors(1));
  assert.equal(await call, "unavailable: The local model BGE_M3 returned 1 vectors for 2 texts");
});

test("close ends the thread and waiting calls", async () => {
  const { embedder, untilCalled, say, endedCount } = setUp();
  const opened = embedder.open();
  await untilCalled();
  say(ready);
  await opened;
  const first = failureOf(embedder.embed(["1"], "query"));
  const second = failureOf(embedder.embed(["2"], "query"));
  await untilCalled();

  await embedder.close();

  assert.equal(await first, "unavailable: The embedding model is closing; try again");
  assert.equal(await second, "unavailable: The embedding model is closing; try again");
  assert.equal(
    await failureOf(embedder.embed(["3"], "query")),
    "unavailable: The embedding model is closing; try again",
  );
  assert.equal(endedCount(), 1);
});

test("close works before the first call", async () => {
  const { embedder, endedCount } = setUp();
  await embedder.close();
  assert.equal(endedCount(), 0);
});
