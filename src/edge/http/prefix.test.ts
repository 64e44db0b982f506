import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestFailure } from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService } from "../handler.ts";
import { areaByPrefix } from "./prefix.ts";

function request(target: string): HttpRequest {
  return {
    method: "GET",
    target,
    header: () => undefined,
    rawHeaders: ["Host", "a"],
    body: Buffer.from("body"),
    remoteAddress: "127.0.0.1",
    remotePort: 7,
    id: "x-1",
  };
}

const echo: HttpService = {
  handle: ({ target, body, id, remotePort }) => ({
    status: 200,
    headers: [],
    body: `${target} ${body} ${id} ${remotePort}`,
  }),
  bodyBytesMax: (target) => target.length,
  refusal: ({ text }, target) => ({ status: 500, headers: [], body: `${text} ${target}` }),
};
const other: HttpService = { handle: () => ({ status: 200, headers: [], body: "other" }), bodyBytesMax: () => 7 };
const area = areaByPrefix({ "/store": echo, "/vector": other });

function answer(target: string): HttpReply {
  return area.handle(request(target)) as HttpReply;
}

test("an area sees paths without its prefix", () => {
  const rows: [string, string][] = [
    ["/store", "/"],
    ["/store/", "/"],
    ["/store?_token=x", "/?_token=x"],
    ["/store/get/k?a=/b", "/get/k?a=/b"],
    ["/store//k", "//k"],
    ["/store/store/x", "/store/x"],
  ];
  for (const [target, seen] of rows) assert.equal(answer(target).body, `${seen} body x-1 7`, target);
});

test("a body has the limit of its area", () => {
  assert.equal(area.bodyBytesMax("/store/get/k"), "/get/k".length);
  assert.equal(area.bodyBytesMax("/elsewhere"), 0);
});

test("H.one-port: a path without a known prefix is not found", () => {
  for (const target of ["/", "/get/k", "/stores/get/k", "/STORE/get/k", "/__proto__/x", "/%73tore/get"])
    assert.equal(answer(target).status, 404, target);
  assert.equal(area.refuseEarly?.(request("/elsewhere"))?.status, 404);
});

test("a failure has the form of the area of its prefix", () => {
  const failure = new RequestFailure("internal", "a fault");
  assert.equal(area.refusal?.(failure, "/store/get/k").body, "a fault /get/k");
  assert.equal(area.refusal?.(failure, "/vector/query").body, '{"error":"a fault"}');
  assert.equal(area.refusal?.(failure, "/elsewhere").body, '{"error":"a fault"}');
});

test("an area below a prefix has everything of the request that it needs", () => {
  const calls: string[] = [];
  const below = areaByPrefix({
    "/store": {
      bodyBytesMax: () => 0,
      handle(inner) {
        inner.waitsForTurn?.();
        inner.hadTurn?.();
        inner.commandFailed?.("failed");
        return { status: 200, headers: [], body: `${inner.takeReply?.(7)} ${inner.replyBytesMax}` };
      },
    },
  });
  const outer: HttpRequest = {
    ...request("/store/get/k"),
    waitsForTurn: () => void calls.push("waits"),
    hadTurn: () => void calls.push("had"),
    commandFailed: (text) => void calls.push(text),
    takeReply: () => false,
    replyBytesMax: 9,
  };
  assert.equal((below.handle(outer) as HttpReply).body, "false 9");
  assert.deepEqual(calls, ["waits", "had", "failed"]);
});
