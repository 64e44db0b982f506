/** `GET /openapi.json` in front of an area. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { edgeRequest } from "../../../test/harness/messaging-edge.ts";
import type { HttpReply, HttpService } from "../handler.ts";
import { withOpenApi } from "./area.ts";

function areaWithDocument(cors = true): { area: HttpService; printed: () => number } {
  let printCount = 0;
  const behind: HttpService = {
    handle: ({ method, target }) => ({ status: 418, headers: [], body: `${method} ${target}` }),
    bodyBytesMax: () => 10,
    refuseEarly: () => ({ status: 401, headers: [], body: "" }),
  };
  const area = withOpenApi(behind, {
    cors,
    async print() {
      printCount += 1;
      return "{}";
    },
  });
  return { area, printed: () => printCount };
}

const ask = async (area: HttpService, line: string, headers: readonly string[] = []): Promise<HttpReply> =>
  (await area.handle(edgeRequest(line, { token: null, headers }))) as HttpReply;

test("the document needs no token and is printed once, on the first request", async () => {
  const { area, printed } = areaWithDocument();
  assert.equal(printed(), 0);
  for (const line of ["GET /openapi.json", "HEAD /openapi.json", "GET /openapi.json?x=1"]) {
    const { status, headers, body } = await ask(area, line);
    assert.deepEqual([status, headers, body], [200, ["Content-Type", "application/json"], "{}"]);
  }
  assert.equal(printed(), 1);
});

test("the area handles all other methods and paths", async () => {
  const { area, printed } = areaWithDocument();
  for (const line of ["POST /openapi.json", "GET /openapi.jsonx", "GET /openapi.json/x", "GET /x/openapi.json"]) {
    assert.equal((await ask(area, line)).body, line);
  }
  assert.equal(printed(), 0);
});

test("a page of another origin may read the document if the setting allows it", async () => {
  const origin = ["Origin", "https://a.test"];
  const request = { ...edgeRequest("GET /openapi.json", { token: null, headers: origin }) };
  request.header = (name) => (name === "origin" ? "https://a.test" : undefined);
  const allowed = (await areaWithDocument(true).area.handle(request)) as HttpReply;
  assert.deepEqual(allowed.headers.slice(2, 4), ["Access-Control-Allow-Origin", "*"]);
  const refused = (await areaWithDocument(false).area.handle(request)) as HttpReply;
  assert.deepEqual(refused.headers, ["Content-Type", "application/json"]);
});

test("a request for the document has no body and is never refused", () => {
  const { area } = areaWithDocument();
  assert.equal(area.bodyBytesMax("/openapi.json"), 0);
  assert.equal(area.bodyBytesMax("/other"), 10);
  assert.equal(area.refuseEarly?.(edgeRequest("GET /openapi.json", { token: null })), undefined);
  assert.equal(area.refuseEarly?.(edgeRequest("GET /other", { token: null }))?.status, 401);
});
