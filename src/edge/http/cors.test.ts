import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestHead } from "../handler.ts";
import { isPreflight, preflightReply } from "./cors.ts";

function head(method: string, headers: Record<string, string>): RequestHead {
  return {
    method,
    target: "/",
    header: (name) => headers[name],
    rawHeaders: Object.entries(headers).flat(),
    remoteAddress: "127.0.0.1",
    remotePort: 1,
    id: "x",
  };
}

test("a preflight is OPTIONS with an origin and a requested method", () => {
  const full = { origin: "https://a.test", "access-control-request-method": "POST" };
  assert.equal(isPreflight(head("OPTIONS", full)), true);
  assert.equal(isPreflight(head("POST", full)), false);
  assert.equal(isPreflight(head("OPTIONS", { origin: "https://a.test" })), false);
  assert.equal(isPreflight(head("OPTIONS", { "access-control-request-method": "POST" })), false);
});

test("S-15: a preflight allows only headers that we know", () => {
  const requested = "Authorization, upstash-sync-token,service-encoding, x-other, cookie, upstash-a b";
  const { status, headers } = preflightReply(head("OPTIONS", { "access-control-request-headers": requested }));

  assert.equal(status, 204);
  const allowed = headers[headers.indexOf("Access-Control-Allow-Headers") + 1];
  assert.equal(allowed, "authorization, upstash-sync-token, service-encoding");
});
