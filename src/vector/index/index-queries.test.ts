/** Changes of the index while a query waits for its turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { VectorQuery } from "../api.ts";
import type { VectorFailure } from "../failure.ts";
import { defaultVectorLimits } from "../limits.ts";
import type { IndexDefinition } from "./definition.ts";
import { VectorEngine } from "./vector-engine.ts";
import type { VectorIndex } from "./vector-index.ts";

const plain: IndexDefinition = {
  type: "DENSE",
  dimension: 2,
  similarity: "EUCLIDEAN",
  denseModel: undefined,
  sparseModel: undefined,
};
const refused = { kind: "unprocessable", text: "Invalid vector dimension: 2, expected: 3" };

/** An index that answers searches only in the next turn of the event loop. */
function slowIndex(definition: IndexDefinition = plain): VectorIndex {
  const clock = new VirtualClock();
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: Object.assign(clock, {
      monotonicMs() {
        clock.advance(1_000);
        return clock.nowMs();
      },
    }),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => "handle",
  });
  return engine.define("docs", definition, { dense: undefined, sparse: undefined });
}

function near(...values: number[]): VectorQuery {
  return {
    vector: Float32Array.from(values),
    topK: 10,
    include: { metadata: false, vectors: false, data: false },
    filter: "",
    weighting: undefined,
    fusion: "RRF",
  };
}

function put(index: VectorIndex, namespace: string, [id, ...values]: [string, ...number[]]): void {
  index.upsert(namespace, [{ id, vector: Float32Array.from(values) }]);
}

async function refusalOf(answer: unknown): Promise<unknown> {
  return Promise.resolve(answer).then(
    () => assert.fail("it is not refused"),
    ({ kind, text }: VectorFailure) => ({ kind, text }),
  );
}

test("B2: a waiting query finds nothing if its namespace is deleted", async () => {
  const index = slowIndex();
  put(index, "ns", ["a", 1, 1]);

  const answer = index.query("ns", [near(1, 1)]);
  index.deleteNamespace("ns");

  assert.deepEqual(await answer, [[]]);
});

test("B2: a waiting query searches the namespace that has the name when its turn comes", async () => {
  const index = slowIndex();
  put(index, "ns", ["a", 1, 1]);
  put(index, "other", ["b", 1, 1]);

  const answer = index.query("ns", [near(1, 1)]);
  index.renameNamespace("other", { newName: "ns", deletesExisting: true });

  assert.deepEqual(await answer, [[{ id: "b", score: 1 }]]);
});

test("B2: a waiting query does not follow a renamed namespace", async () => {
  const index = slowIndex();
  put(index, "ns", ["a", 1, 1]);

  const answer = index.query("ns", [near(1, 1)]);
  index.renameNamespace("ns", { newName: "other", deletesExisting: false });

  assert.deepEqual(await answer, [[]]);
});

test("B2: refuses a waiting query if the first vector gives the index another dimension", async () => {
  const index = slowIndex({ ...plain, dimension: undefined });

  const answer = index.query("", [near(1, 1)]);
  put(index, "", ["a", 1, 1, 1]);

  assert.deepEqual(await refusalOf(answer), refused);
});

test("B2: refuses each call of a resumable query if the index has got another dimension", async () => {
  const index = slowIndex({ ...plain, dimension: undefined });
  const { uuid, scores } = await index.resumableQuery("", near(1, 1), 3_600);
  assert.deepEqual(scores, []);

  put(index, "", ["a", 1, 1, 1]);

  assert.deepEqual(await refusalOf(index.resumableQueryNext(uuid, 1)), refused);
  assert.deepEqual(await refusalOf(index.resumableQueryNext(uuid, 1)), refused);
});
