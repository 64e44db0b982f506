import assert from "node:assert/strict";
import { test } from "node:test";
import { areaNotServing } from "../../edge/errors.ts";
import type { RequestHead } from "../../edge/handler.ts";
import { numberedRefusalReply } from "../../edge/respond.ts";
import { refusingService } from "./refusing-service.ts";

const head: RequestHead = {
  method: "POST",
  target: "/query",
  header: () => undefined,
  rawHeaders: [],
  remoteAddress: "127.0.0.1",
  remotePort: 1,
  id: "1",
};

test("until an area serves, it answers 503 in the form of its other failures", () => {
  const numbered = refusingService(areaNotServing("vector"), 10, {
    refusal: (failure) => numberedRefusalReply(failure),
  });
  const plain = refusingService(areaNotServing("messaging"), 10, {});

  const answers = [numbered, plain].map((area) => area.refuseEarly?.(head));

  assert.deepEqual(
    answers.map((reply) => [reply?.status, JSON.parse(String(reply?.body))]),
    [
      [503, { error: "ERR vector is not available; try again", status: 503 }],
      [503, { error: "ERR messaging is not available; try again" }],
    ],
  );
});
