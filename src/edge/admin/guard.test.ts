import assert from "node:assert/strict";
import { test } from "node:test";
import type { HttpReply, HttpRequest } from "../handler.ts";
import { guarded } from "./guard.ts";
import { guardHeaders, isOpenTarget } from "./routes.ts";

type Headers = Readonly<Record<string, string>>;

interface Port {
  readonly listenHost?: string;
  readonly isEncrypted?: boolean;
  readonly target?: string;
}

function answerTo(
  headers: Headers,
  { listenHost = "127.0.0.1", isEncrypted = false, target = "/v1/stats" }: Port = {},
) {
  const area = { bodyBytesMax: () => 0, handle: (): HttpReply => ({ status: 200, headers: [], body: "" }) };
  const door = guarded(area, {
    ...{ listenHost, isEncrypted, allowedHosts: ["console.example.com"] },
    ...{ isOpen: isOpenTarget, headers: guardHeaders },
  });
  const request: HttpRequest = {
    ...{
      method: "GET",
      target,
      rawHeaders: [],
      body: Buffer.alloc(0),
      remoteAddress: "127.0.0.1",
      remotePort: 1,
      id: "a",
    },
    header: (name) => headers[name],
  };
  const early = door.refuseEarly?.(request);
  const reply = door.handle(request) as HttpReply;
  assert.equal(early?.status, reply.status === 200 ? undefined : reply.status);
  return reply;
}

const everywhere = "0.0.0.0";
const own = { host: "localhost:8082", origin: "http://localhost:8082" };

const cases: readonly (readonly [what: string, headers: Headers, status: number, port?: Port])[] = [
  ["no Host, as HTTP/1.0 may", {}, 200],
  ["localhost", { host: "localhost:8082" }, 200],
  ["localhost in capitals", { host: "LOCALHOST" }, 200],
  ["a loopback address", { host: "127.0.0.1:8082" }, 200],
  ["another loopback address", { host: "127.1.2.3" }, 200],
  ["IPv6 loopback", { host: "[::1]:8082" }, 200],
  ["the address of a pod, which cannot be rebound", { host: "10.1.2.3:8082" }, 200],
  ["a listed name", { host: "Console.Example.com" }, 200],
  ["the name that the port listens on", { host: "larder.internal:8082" }, 200, { listenHost: "larder.internal" }],
  ["a name that is not listed", { host: "rebound.example:8082" }, 421],
  ["a name that only begins like a listed one", { host: "console.example.com.evil.example" }, 421],
  ["a name below localhost", { host: "evil.localhost" }, 421],
  ["a name that begins with an address", { host: "127.0.0.1.evil.example" }, 421],
  ["an empty Host", { host: "" }, 421],
  ["two hosts", { host: "localhost, rebound.example" }, 421],
  ["a user before the host", { host: "localhost@rebound.example" }, 421],
  ["an open route by any name, on loopback", { host: "larder:8082" }, 421, { target: "/metrics" }],
  [
    "an open route by any name, elsewhere",
    { host: "larder:8082" },
    200,
    { target: "/metrics", listenHost: everywhere },
  ],
  ["health by any name, elsewhere", { host: "larder" }, 200, { target: "/health/ready?x", listenHost: everywhere }],
  ["another route by any name, elsewhere", { host: "larder:8082" }, 421, { listenHost: everywhere }],
  ["the console by any name, elsewhere", { host: "larder:8082" }, 421, { target: "/console", listenHost: everywhere }],
  [
    "an open route by any name, elsewhere, from a page",
    { host: "larder", origin: "http://larder" },
    421,
    { target: "/metrics", listenHost: everywhere },
  ],
  [
    "an open route by any name, elsewhere, from a browser",
    { host: "larder", "sec-fetch-site": "same-origin" },
    421,
    { target: "/metrics", listenHost: everywhere },
  ],
  ["its own origin", own, 200],
  ["its own origin, over TLS", { host: "10.1.2.3", origin: "https://10.1.2.3" }, 200, { isEncrypted: true }],
  [
    "a listed name behind a proxy with TLS",
    { host: "console.example.com", origin: "https://console.example.com" },
    200,
  ],
  ["another origin", { ...own, origin: "http://evil.example" }, 403],
  ["another port of this machine", { ...own, origin: "http://localhost:3000" }, 403],
  ["another scheme", { ...own, origin: "https://localhost:8082" }, 403],
  ["an opaque origin", { ...own, origin: "null" }, 403],
  ["an extension", { ...own, origin: "chrome-extension://abc" }, 403],
  ["a preflight for an open route", { ...own, origin: "http://evil.example" }, 403, { target: "/metrics" }],
  ["an address that was typed", { ...own, "sec-fetch-site": "none" }, 200],
  ["a request of its own page", { ...own, "sec-fetch-site": "same-origin" }, 200],
  ["another site", { host: "localhost:8082", "sec-fetch-site": "cross-site" }, 403],
  ["another port or name of this site", { host: "localhost:8082", "sec-fetch-site": "same-site" }, 403],
  ["a word that no browser sends", { host: "localhost:8082", "sec-fetch-site": "x" }, 403],
  [
    "another site, for an open route",
    { host: "localhost:8082", "sec-fetch-site": "cross-site" },
    403,
    { target: "/version" },
  ],
  ["fetch of Node, which is no browser", { host: "127.0.0.1:8082", "sec-fetch-mode": "cors" }, 200],
];

test("S-14: the admin port answers only what no page of another site can have asked", () => {
  for (const [what, headers, status, port] of cases) {
    const reply = answerTo(headers, port);
    assert.equal(reply.status, status, what);
    const names = reply.headers.filter((_, index) => index % 2 === 0);
    assert.ok(!names.some((name) => /^access-control/i.test(name)), what);
    if (status !== 200) assert.ok(names.includes("Content-Security-Policy"), what);
  }
});

test("S-14: the refusal of a name says what to set", () => {
  const { body } = answerTo({ host: "rebound.example:8082" });
  assert.equal(
    String(body),
    '{"error":"ERR the admin port does not answer to the host \\"rebound.example\\"; use an IP address or localhost, or list the name in --admin-allowed-hosts"}',
  );
});
