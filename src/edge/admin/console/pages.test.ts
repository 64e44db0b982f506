import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import type { RequestHead } from "../../handler.ts";
import { type ConsoleFiles, pageReply } from "./pages.ts";

const files: ConsoleFiles = new Map([
  ["index.html", { content: Buffer.from("<page>") }],
  ["favicon.svg", { content: Buffer.from("<svg>") }],
  ["assets/app-B2x.js", { brotli: brotliCompressSync("app") }],
]);

function get(path: string, { accepted = "", method = "GET", isBuilt = true } = {}) {
  const head = {
    method,
    header: (name: string) => (name === "accept-encoding" && accepted !== "" ? accepted : undefined),
  } as RequestHead;
  const { status, headers, body } = pageReply(head, path, isBuilt ? files : undefined);
  const named = Object.fromEntries(
    headers.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), headers[index + 1] ?? ""]] : [])),
  );
  return { status, headers: named, body: Buffer.from(body), text: String(body) };
}

const paths: readonly (readonly [path: string, status: number, text: string])[] = [
  ["/console", 200, "<page>"],
  ["/console/", 200, "<page>"],
  ["/console/index.html", 200, "<page>"],
  ["/console/store/main/keys/a.b", 200, "<page>"],
  ["/console/favicon.svg", 200, "<svg>"],
  ["/console/assets/app-B2x.js", 200, "app"],
  ["/console/assets/app-OLD.js", 404, '{"error":"There is no such file of the console: reload the page"}'],
  // No path leaves the list: these are pages of the application, or files that do not exist.
  ["/console/../package.json", 200, "<page>"],
  ["/console/%2e%2e/package.json", 200, "<page>"],
  ["/console//etc/passwd", 200, "<page>"],
  ["/console/..%2f..%2fetc%2fpasswd", 200, "<page>"],
  ["/console/assets/../index.html", 404, '{"error":"There is no such file of the console: reload the page"}'],
  ["/console/assets/%00", 404, '{"error":"There is no such file of the console: reload the page"}'],
  ["/console/__proto__", 200, "<page>"],
];

test("S-20: a path selects one of the files of the build, or the page", () => {
  for (const [path, status, text] of paths) {
    const answer = get(path);
    assert.deepEqual([answer.status, answer.text], [status, text], path);
    assert.equal(answer.headers["x-content-type-options"], "nosniff", path);
  }
});

test("S-20: the page runs no inline script, is in no frame and is not cached", () => {
  const { headers } = get("/console");
  assert.deepEqual(headers, {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    vary: "Accept-Encoding",
  });
});

test("files with a hash in their name are cached for good, and are sent compressed to clients that accept it", () => {
  const path = "/console/assets/app-B2x.js";
  assert.equal(get(path).headers["cache-control"], "public, max-age=31536000, immutable");
  const sent = ["gzip, deflate, br", "gzip", "br;q=0, gzip;q=0.5", "identity", "brx"].map((accepted) => {
    const { headers, body } = get(path, { accepted });
    const isCompressed = headers["content-encoding"] === "br";
    return [isCompressed, String(isCompressed ? brotliDecompressSync(body) : body)];
  });
  assert.deepEqual(sent, [
    [true, "app"],
    [false, "app"],
    [false, "app"],
    [false, "app"],
    [false, "app"],
  ]);
});

test("pages are only read, and a console that is not built says how to build it", () => {
  assert.equal(get("/console", { method: "POST" }).status, 405);
  const { status, text, headers } = get("/console", { isBuilt: false });
  assert.equal(status, 404);
  assert.match(text, /^The console is not built; `npm run console` in a checkout builds it\n$/);
  assert.equal(headers["content-type"], "text/plain; charset=utf-8");
});
