/** Resumable queries. */
import assert from "node:assert/strict";
import { FusionAlgorithm } from "@upstash/vector";
import { refusalOf, testMethods } from "./served.ts";

const five = [1, 2, 3, 4, 5].map((n) => ({
  id: `id${n}`,
  vector: [(2 * n - 1) / 10, (2 * n) / 10],
  metadata: { field: `value${n}` },
}));
const query = { vector: [0.1, 0.2], topK: 2, maxIdle: 3600 };

testMethods("Resumable queries", [
  [
    ["resumableQuery", "resumableQuery.fetchNext", "resumableQuery.stop"],
    "the ranking continues until no record is left",
    async (open) => {
      const index = open();
      await index.upsert(five);

      const { result, fetchNext, stop } = await index.resumableQuery({ ...query, includeMetadata: true });

      assert.deepEqual(result, [
        { id: "id1", score: 1, metadata: { field: "value1" } },
        { id: "id2", score: 0.99193496, metadata: { field: "value2" } },
      ]);
      assert.deepEqual(await fetchNext(2), [
        { id: "id3", score: 0.9867085, metadata: { field: "value3" } },
        { id: "id4", score: 0.98380864, metadata: { field: "value4" } },
      ]);
      assert.deepEqual(await fetchNext(1), [{ id: "id5", score: 0.98199624, metadata: { field: "value5" } }]);
      assert.deepEqual(await fetchNext(1), []);
      assert.equal(await stop(), "Success");
    },
  ],
  [
    ["resumableQuery", "resumableQuery.fetchNext"],
    "each page has all requested parts",
    async (open) => {
      const index = open("hybrid");
      const record = {
        id: "a",
        vector: [0.1, 0.2],
        sparseVector: { indices: [0, 5], values: [0.5, 1] },
        metadata: { n: 1 },
        data: "a-data",
      };
      await index.upsert([record, { ...record, id: "b" }]);

      const { result, fetchNext } = await index.resumableQuery({
        vector: [0.1, 0.2],
        sparseVector: { indices: [0], values: [1] },
        topK: 1,
        maxIdle: 60,
        includeVectors: true,
        includeMetadata: true,
        includeData: true,
      });

      assert.deepEqual(result, [{ ...record, score: 0.033333335 }]);
      assert.deepEqual(await fetchNext(3), [{ ...record, id: "b", score: 0.033333335 }]);
    },
  ],
  [
    ["resumableQuery", "resumableQuery.fetchNext"],
    "B.resumable.fusion: each page is fused again, among the records not returned yet",
    async (open) => {
      const index = open("hybrid");
      await index.upsert([
        { id: "id0", vector: [0.1, 0.2], sparseVector: { indices: [0, 1], values: [0.1, 0.2] } },
        { id: "id1", vector: [0.2, 0.3], sparseVector: { indices: [1, 2], values: [0.2, 0.3] } },
        { id: "id2", vector: [0.3, 0.4], sparseVector: { indices: [2, 3], values: [0.3, 0.4] } },
      ]);
      const hybrid = {
        vector: [0.1, 0.1],
        sparseVector: { indices: [2, 3], values: [0.5, 0.5] },
        topK: 2,
        maxIdle: 60,
      };

      const distributed = await index.resumableQuery({ ...hybrid, fusionAlgorithm: FusionAlgorithm.DBSF });
      const ranked = await index.resumableQuery(hybrid);

      assert.deepEqual(distributed.result, [
        { id: "id2", score: 1.2357022 },
        { id: "id1", score: 0.7642979 },
      ]);
      assert.deepEqual(await distributed.fetchNext(1), [{ id: "id0", score: 0.5 }]);
      assert.deepEqual(ranked.result, [
        { id: "id2", score: 0.033333335 },
        { id: "id1", score: 0.032786883 },
      ]);
      assert.deepEqual(await ranked.fetchNext(1), [{ id: "id0", score: 0.016666668 }]);
    },
  ],
  [
    ["resumableQuery", "resumableQuery.fetchNext"],
    "B.resumable.next: deleted records are not returned, new ones are, and none twice",
    async (open) => {
      const index = open();
      await index.upsert(five);
      const { fetchNext } = await index.resumableQuery(query);

      await index.delete("id3");
      await index.upsert({ id: "new", vector: [0.1, 0.2] });
      await index.upsert({ id: "id1", vector: [0.5, 0.5] });

      assert.deepEqual(
        (await fetchNext(10)).map(({ id }) => id),
        ["new", "id4", "id5"],
      );
    },
  ],
  [
    ["resumableQuery", "resumableQuery.stop"],
    "an ended query no longer exists",
    async (open, served) => {
      const index = open();
      await index.upsert(five);
      const started = await served.send("POST /resumable-query", query);
      const { uuid } = (started.json as { result: { uuid: string } }).result;

      assert.deepEqual((await served.send("POST /resumable-query-end", { uuid })).json, { result: "Success" });

      const gone = "The resumable query does not exist: it was ended, or was idle for too long";
      for (const line of ["POST /resumable-query-next", "POST /resumable-query-end"]) {
        const { status, json } = await served.send(line, { uuid, additionalK: 1 });
        assert.deepEqual([status, json], [404, { error: gone, status: 404 }]);
      }
      const { stop, fetchNext } = await index.resumableQuery(query);
      await stop();
      await assert.rejects(async () => fetchNext(1), /already been stopped/);
    },
  ],
  [
    ["resumableQuery", "resumableQuery.fetchNext"],
    "B.resumable.end: an idle query expires, and each page restarts the idle time",
    async (open, served) => {
      const index = open();
      await index.upsert(five);
      const { fetchNext } = await index.resumableQuery({ ...query, topK: 1, maxIdle: 10 });

      await served.larder.clock.advance(9_000);
      assert.equal((await fetchNext(1)).length, 1);
      await served.larder.clock.advance(9_000);
      assert.equal((await fetchNext(1)).length, 1);
      await served.larder.clock.advance(11_000);

      assert.equal(
        await refusalOf(fetchNext(1)),
        "The resumable query does not exist: it was ended, or was idle for too long",
      );
    },
  ],
  [
    ["resumableQuery", "resumableQuery.fetchNext", "resumableQuery.stop"],
    "a query of a missing namespace has no hits, but a handle",
    async (open) => {
      const { result, fetchNext, stop } = await open().resumableQuery(query, { namespace: "never-made" });

      assert.deepEqual(result, []);
      assert.deepEqual(await fetchNext(5), []);
      assert.equal(await stop(), "Success");
    },
  ],
]);
