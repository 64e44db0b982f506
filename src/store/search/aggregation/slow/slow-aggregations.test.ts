/** Random aggregations of random documents against plain loops over the documents of each bucket. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isProof } from "../../../../../test/budget.ts";
import { atOnce } from "../../slices.ts";
import { aggregate } from "../aggregate.ts";
import { parseAggregations } from "../parse.ts";
import { indexOf } from "./index-reader.virtual.ts";
import { definition, flat, type Row, requests, rows, slowAnswer } from "./slow-aggregations.virtual.ts";

test("aggregations are those of plain loops, in one piece and in the shortest slices", () => {
  fc.assert(
    fc.property(rows, requests, fc.integer({ min: 1, max: 3 }), fc.boolean(), (documents, request, nth, isOver) => {
      // Some documents are no hits, and some numbers have no document.
      const hits = Uint32Array.from([...documents.keys()].filter((document) => document % nth === 0));
      const aggregations = parseAggregations(JSON.stringify(request), definition);
      const reply = atOnce(aggregate(indexOf(definition, documents), hits, { aggregations, spend: () => isOver }));
      const expected = slowAnswer(
        Array.from(hits, (document) => documents[document] as Row),
        request,
      );
      assert.deepEqual(flat(reply), expected);
    }),
    { numRuns: isProof() ? 20_000 : 400 },
  );
});
