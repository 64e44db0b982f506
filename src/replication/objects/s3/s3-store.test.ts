/** What the client of S3 asks, and how it reads answers: those of other stores, and hostile ones. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  answerOf,
  type FakeAnswer,
  type FakeRequest,
  problem,
  received,
} from "../../../../test/harness/object-stores/fake-s3.ts";
import { type OpenedS3, SMALL_SIZES, s3On } from "../../../../test/harness/object-stores/opened-stores.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { contentOf, type ObjectContent, ObjectStoreFailure } from "../object-store.ts";
import type { HttpSend } from "./http.ts";

const SMALL = contentOf(Buffer.from("small"));
/** Three parts. */
const LARGE = contentOf(Buffer.alloc(1_300, "x"));
const sizes = SMALL_SIZES;

/** A store whose server answers with `answerTo`, or as it is if that returns undefined. */
function answering(answerTo: (request: FakeRequest) => FakeAnswer | undefined, setting = {}): Promise<OpenedS3> {
  const between =
    (send: HttpSend): HttpSend =>
    async (request) => {
      const whole = await received(request);
      const pieces = async function* (): AsyncIterable<Buffer> {
        yield whole.body;
      };
      const answer = answerTo(whole);
      return answer === undefined ? send({ ...request, body: pieces() }) : answerOf(answer);
    };
  return s3On({ between, sizes, ...setting });
}

function ok(body: string, headers: Record<string, string> = {}): FakeAnswer {
  return { status: 200, headers, body: Buffer.from(body) };
}

async function failureOf(call: Promise<unknown>): Promise<readonly [string, string]> {
  try {
    await call;
  } catch (fault) {
    assert.ok(fault instanceof ObjectStoreFailure, String(fault));
    assert.ok(!inspect(fault).includes("secret"), "no text of the store is repeated");
    return [fault.kind, fault.message];
  }
  throw new Error("the call did not fail");
}

const methodsOf = ({ server }: OpenedS3): readonly string[] =>
  server.requests.map(
    ({ method, url }) =>
      `${method} ${url.pathname.replace(/larder-check-[0-9a-f]{16}/, "check")}${url.search.replace(/upload\.\d.*/, "ID")}`,
  );

test("the first new object tries whether conditions are kept, and an upload in parts tries it for itself", async () => {
  const opened = await s3On({ prefix: "copy", sizes });
  await opened.store.putNew("a", SMALL);
  await opened.store.putNew("b", SMALL);
  assert.deepEqual(methodsOf(opened), [
    "PUT /bucket/copy/check",
    "PUT /bucket/copy/check",
    "POST /bucket/?delete=",
    "PUT /bucket/copy/a",
    "PUT /bucket/copy/b",
  ]);
  opened.server.requests.length = 0;
  await opened.store.putNew("large", LARGE);
  assert.deepEqual(methodsOf(opened), [
    "POST /bucket/copy/check?uploads=",
    "PUT /bucket/copy/check?partNumber=1&uploadId=ID",
    "POST /bucket/copy/check?uploadId=ID",
    "POST /bucket/copy/check?uploads=",
    "PUT /bucket/copy/check?partNumber=1&uploadId=ID",
    "POST /bucket/copy/check?uploadId=ID",
    "DELETE /bucket/copy/check?uploadId=ID",
    "POST /bucket/?delete=",
    "POST /bucket/copy/large?uploads=",
    "PUT /bucket/copy/large?partNumber=1&uploadId=ID",
    "PUT /bucket/copy/large?partNumber=2&uploadId=ID",
    "PUT /bucket/copy/large?partNumber=3&uploadId=ID",
    "POST /bucket/copy/large?uploadId=ID",
  ]);
  assert.deepEqual([...opened.server.objects.keys()], ["copy/a", "copy/b", "copy/large"]);
  assert.equal(opened.server.uploads.size, 0);
});

test("a store that ignores or refuses conditions is refused, unless the address says conditional=no", async () => {
  for (const [putCondition, text] of [
    ["ignored", /the store ignores conditions of writes: use a store with conditional writes .*conditional=no/],
    ["refused", /the store has no conditional writes: use a store with conditional writes .*conditional=no/],
  ] as const) {
    const refused = await s3On({ server: { putCondition } });
    await assert.rejects(refused.store.putNew("a", SMALL), { kind: "refused", message: text });
    await assert.rejects(refused.store.checkConditionalWrites(), { kind: "refused" });
    assert.equal(refused.server.objects.size, 0);
    const accepted = await s3On({ isConditional: false, server: { putCondition } });
    await accepted.store.checkConditionalWrites();
    assert.equal(await accepted.store.putNew("a", SMALL), "stored");
    assert.equal(await accepted.store.putNew("a", SMALL), "exists");
  }
});

test("an upload that ignores conditions is not used: large objects are sent whole", async () => {
  for (const uploadCondition of ["ignored", "for-whole"] as const) {
    const opened = await s3On({ sizes, server: { uploadCondition } });
    assert.equal(await opened.store.putNew("large", LARGE), "stored");
    assert.equal(await opened.store.putNew("large", LARGE), "exists");
    assert.deepEqual(
      methodsOf(opened).filter((each) => each.includes("large")),
      ["PUT /bucket/large", "PUT /bucket/large", "HEAD /bucket/large"],
    );
    const huge = { bytes: 5 * 1024 ** 3 + 1, read: () => Promise.reject(new Error("not read")) };
    await assert.rejects(opened.store.putNew("huge", huge), { kind: "refused", message: /needs an upload in parts/ });
  }
});

test("a request that the network doubles stores the object, and another object of that name does not count", async () => {
  const doubling =
    (send: HttpSend): HttpSend =>
    async (request) => {
      const { body } = await received(request);
      const again = async function* (): AsyncIterable<Buffer> {
        yield body;
      };
      await send({ ...request, body: again() });
      return send({ ...request, body: again() });
    };
  const doubled = await s3On({ between: doubling, sizes });
  for (const [name, content, outcome] of [
    ["a", SMALL, "stored"],
    ["a", SMALL, "exists"],
    ["large", LARGE, "stored"],
    ["large", LARGE, "exists"],
  ] as const)
    assert.equal(await doubled.store.putNew(name, content), outcome, name);
  assert.deepEqual([...doubled.server.objects.keys()], ["a", "large"]);
});

test("encryption headers and the mark are on new objects only", async () => {
  const keyId = "arn:aws:kms:eu-west-1:1:key/2";
  const { store, server } = await s3On({ encryption: { algorithm: "aws:kms", keyId }, sizes });
  await store.putNew("a", SMALL);
  await store.putNew("large", LARGE);
  await store.get("a", { start: 0, end: 1 });
  for (const [name, object] of server.objects) {
    const { "x-amz-meta-larder-mark": mark, ...headers } = object.headers;
    assert.match(mark ?? "", /^[0-9a-f]{16}$/);
    const expected = {
      "x-amz-server-side-encryption": "aws:kms",
      "x-amz-server-side-encryption-aws-kms-key-id": keyId,
    };
    assert.deepEqual(headers, expected, name);
  }
  for (const { method, url, headers } of server.requests)
    if (method === "GET" || url.searchParams.has("partNumber") || url.searchParams.has("uploadId"))
      assert.equal(headers["x-amz-server-side-encryption"], undefined, `${method} ${url}`);
});

test("expired credentials are read again, once", async () => {
  const environment = {
    AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "secret/key+1",
    AWS_SESSION_TOKEN: "t1",
  };
  const { store, server } = await s3On({ environment, server: { sessionToken: "t1" } });
  assert.deepEqual(await store.list(""), []);
  server.sessionToken = "t2";
  assert.deepEqual(await failureOf(store.list("")), [
    "refused",
    "s3://bucket, the list of all objects: the store answered 400 ExpiredToken",
  ]);
  assert.equal(server.requests.length, 3);
  environment.AWS_SESSION_TOKEN = "t2";
  assert.deepEqual(await store.list(""), []);
});

for (const [endpoint, options, expected] of [
  ["https://s3.example.test", {}, ["check -", "check -", "a -", "b -"]],
  ["https://s3.example.test", { isMd5Required: true }, ["check -", "check md5", "check md5", "a md5", "b md5"]],
  ["http://s3.example.test", {}, ["check md5", "check md5", "check md5", "a -", "b -"]],
  ["http://s3.example.test", { isMd5Required: true }, ["check md5", "check md5", "check md5", "a -", "a md5", "b md5"]],
  ["http://s3.example.test", { ignoresSignedBodies: true }, ["check md5", "check md5", "check md5", "a md5", "b md5"]],
] as const)
  test(`objects at ${endpoint} have an MD5 if the store requires it, or nothing else protects them: ${JSON.stringify(options)}`, async () => {
    const { server, store } = await s3On({ endpoint, server: options });
    assert.deepEqual([await store.putNew("a", SMALL), await store.putNew("b", SMALL)], ["stored", "stored"]);
    const sent = server.requests
      .filter(({ method }) => method === "PUT")
      .map(({ url, headers }) => {
        const name = url.pathname.replace("/bucket/", "").replace(/larder-(check).*/, "$1");
        return `${name} ${headers["content-md5"] === undefined ? "-" : "md5"}`;
      });
    assert.deepEqual(sent, expected);
    assert.deepEqual([...server.objects.keys()], ["a", "b"]);
  });

test("objects that are sent after each other from the same memory have their own bytes", async () => {
  const { server, store } = await s3On({});
  const bytesOf = (letter: string, bytes: number): Buffer => Buffer.alloc(bytes, letter);
  const objects = [bytesOf("a", 400_000), bytesOf("b", 300_000), bytesOf("c", 500_000)];
  const contentIn = (bytes: Buffer): ObjectContent => ({
    bytes: bytes.length,
    read(start, end, into) {
      const target = into?.subarray(0, end - start) ?? Buffer.alloc(end - start);
      bytes.copy(target, 0, start, end);
      return Promise.resolve(target);
    },
  });
  for (const [index, bytes] of objects.entries()) await store.putNew(`o${index}`, contentIn(bytes));
  await Promise.all(objects.map((bytes, index) => store.putNew(`p${index}`, contentIn(bytes))));
  for (const [index, bytes] of objects.entries())
    for (const name of [`o${index}`, `p${index}`]) assert.ok(server.objects.get(name)?.bytes.equals(bytes), name);
});

test("requests and bytes are counted by kind", async () => {
  const { store, counted } = await s3On({});
  await store.checkConditionalWrites();
  counted.length = 0;
  await store.putNew("a", SMALL);
  await store.putNew("a", SMALL);
  await store.get("a", { start: 1, end: 4 });
  await store.list("zzz");
  await store.remove(["a"]);
  assert.deepEqual(
    counted.map(({ kind, sentBytes, hasFailed }) => [kind, sentBytes, hasFailed]),
    [
      ["put", 5, false],
      ["put", 5, false],
      ["get", 0, false],
      ["get", 0, false],
      ["list", 0, false],
      ["delete", 113, false],
    ],
  );
  assert.equal(counted[3]?.receivedBytes, 3);
});

const RANGE = { start: 2, end: 6 };
const part = (range: string, body: string): FakeAnswer => ({
  status: 206,
  headers: { "content-range": range },
  body: Buffer.from(body),
});

const reads: readonly [FakeAnswer, string | undefined | readonly [string, RegExp]][] = [
  [part("bytes 2-5/10", "2345"), "2345"],
  [part("bytes 2-5/*", "2345"), "2345"],
  [part("bytes 2-3/4", "23"), "23"],
  [ok("0123", { "content-length": "4" }), "23"],
  [ok("", { "content-length": "0" }), ""],
  [problem(416, "InvalidRange"), ""],
  [problem(404, "NoSuchKey"), undefined],
  // Fewer bytes than there are.
  [part("bytes 2-3/10", "23"), ["damaged", /it has another range/]],
  [part("bytes 2-3/*", "23"), ["damaged", /it has another range/]],
  [part("bytes 0-3/10", "0123"), ["damaged", /it has another range/]],
  [part("bytes 2-9/10", "2345"), ["damaged", /it has another range/]],
  [part("bytes 5-2/10", ""), ["damaged", /it has another range/]],
  [part("bytes 2-5/10", "23456"), ["damaged", /more than 4 bytes/]],
  [part("bytes 2-5/10", "23"), ["unavailable", /the answer ends after 2 bytes/]],
  [part("bytes 2-5", "2345"), ["damaged", /no valid Content-Range/]],
  [{ status: 206, headers: {}, body: Buffer.from("2345") }, ["damaged", /no valid Content-Range/]],
  [ok("0123456789", { "content-length": "10" }), ["damaged", /more than 4 bytes/]],
  [ok("0123"), ["damaged", /its length is not known/]],
  [ok("01", { "content-length": "4" }), ["damaged", /its length is not known/]],
  [problem(404, "NoSuchBucket"), ["refused", /404 NoSuchBucket; create the bucket, or correct its name$/]],
  [
    { status: 404, headers: {}, body: Buffer.from("<html>secret</html>") },
    ["damaged", /404 without a code of S3: is the/],
  ],
  [{ status: 404, headers: {}, body: Buffer.alloc(0) }, ["damaged", /404 without a code of S3/]],
  [problem(404, "No secret"), ["damaged", /404 without a code of S3/]],
  [problem(403, "AccessDenied"), ["refused", /403 AccessDenied; give the credentials the rights s3:GetObject/]],
  [problem(403, "SignatureDoesNotMatch"), ["refused", /correct AWS_SECRET_ACCESS_KEY/]],
  [problem(403, "RequestTimeTooSkewed"), ["refused", /correct the clock of this machine$/]],
  [problem(403, "constructor"), ["refused", /the store answered 403 constructor$/]],
  [
    problem(301, "PermanentRedirect", { "x-amz-bucket-region": "eu-west-1" }),
    ["refused", /is in the region eu-west-1$/],
  ],
  [problem(301, "PermanentRedirect", { "x-amz-bucket-region": "a secret" }), ["refused", /correct the region/]],
  [{ status: 307, headers: { location: "http://secret" }, body: Buffer.alloc(0) }, ["refused", /answered 307$/]],
  [problem(500, "InternalError"), ["unavailable", /500 InternalError$/]],
  [problem(503, "SlowDown"), ["unavailable", /503 SlowDown$/]],
  [problem(400, "SlowDown"), ["unavailable", /400 SlowDown$/]],
  [problem(429, "TooManyRequests"), ["unavailable", /429/]],
  [problem(412, "PreconditionFailed"), ["unavailable", /412/]],
  [problem(400, "RequestTimeout"), ["unavailable", /400 RequestTimeout$/]],
  [{ status: 502, headers: {}, body: Buffer.from("<html>") }, ["unavailable", /answered 502$/]],
  [problem(501, "NotImplemented"), ["refused", /501 NotImplemented$/]],
  [{ status: 204, headers: {}, body: Buffer.alloc(0) }, ["damaged", /204, which is not expected/]],
  [{ status: 403, headers: {}, body: Buffer.alloc(70_000, "x") }, ["damaged", /more than 65536 bytes/]],
];

test("a read believes the range that was asked for, and nothing else", async () => {
  for (const [answer, expected] of reads) {
    const { store } = await answering(() => answer);
    const call = store.get("a/b", RANGE);
    const name = `${answer.status} ${JSON.stringify(answer.headers)} ${answer.body.subarray(0, 99)}`;
    if (typeof expected === "object") {
      const [kind, message] = await failureOf(call);
      assert.equal(kind, expected[0], name);
      assert.match(message, expected[1]);
      assert.match(message, /^s3:\/\/bucket, a\/b: /);
    } else assert.equal((await call)?.toString(), expected, name);
  }
});

const listed = (inner: string, isTruncated: string | boolean = false): FakeAnswer =>
  ok(`<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${inner}</ListBucketResult>`);
const object = (key: string, size: string | number = 1): string =>
  `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`;

const lists: readonly [FakeAnswer, RegExp | readonly string[]][] = [
  [listed(object("p/a/1") + object("p/a/2")), ["a/1", "a/2"]],
  [listed(object("p/a/a&amp;&#x2B;")), ["a/a&+"]],
  // Keys of others: folders of consoles, and names that larder cannot have made.
  [listed(object("p/a//x") + object("p/a/1") + object("p/a/f/") + object("p/a/\u00e4")), ["a/1"]],
  [listed(object("p/a/../../etc") + object(`p/a/${"x".repeat(600)}`) + object("p/a/y&#10;z")), []],
  [listed(object("p/a/./b")), []],
  [listed(object("q/1")), /a key does not have the prefix/],
  [listed(object("p/b")), /a key does not have the prefix/],
  [listed(object("p/a/2") + object("p/a/1")), /not in the order of their bytes/],
  [listed(object("p/a/1") + object("p/a/1")), /not in the order of their bytes/],
  [listed(object("p/a/-")), /not in the order of their bytes/],
  [listed(object("p/a/-0")), ["a/-0"]],
  [listed(object("p/a/1", -1)), /no valid Size/],
  [listed(object("p/a/1", "1e3")), /no valid Size/],
  [listed(object("p/a/1", "9".repeat(16))), /no valid Size/],
  [listed("<Contents><Key>p/a/1</Key></Contents>"), /no valid Size/],
  [listed("<Contents><Size>1</Size></Contents>"), /an object has no Key/],
  [listed(object("")), /an object has no Key/],
  [listed("", true), /it has no key, and more follow/],
  [listed("", "maybe"), /it has no IsTruncated/],
  [ok("<ListBucketResult/>"), /it has no IsTruncated/],
  [ok("<Other/>"), /it has no ListBucketResult/],
  [ok("<html><body>secret</p></html>"), /an end without its beginning/],
  [ok(""), /the end is missing/],
  [ok("\0\xff"), /text outside of the element/],
  [ok(`<ListBucketResult>${"<a>".repeat(40)}`), /too many elements/],
  [ok("x".repeat(17 * 1024 * 1024)), /more than 16777216 bytes/],
];

test("a list is believed if it is in order, after what was asked, and below the prefix", async () => {
  for (const [answer, expected] of lists) {
    const { store } = await answering(() => answer, { prefix: "p" });
    const name = answer.body.toString("utf8", 0, 200);
    try {
      const found = await store.list("a/", "a/-");
      assert.deepEqual(
        found.map((each) => each.name),
        expected,
        name,
      );
    } catch (fault) {
      if (!(fault instanceof ObjectStoreFailure) || !(expected instanceof RegExp)) throw fault;
      assert.equal(fault.kind, "damaged", name);
      assert.match(fault.message, expected, name);
      assert.match(fault.message, /^s3:\/\/bucket\/p, the list of a\/: /);
    }
  }
});

test("a list that never ends is given up", async () => {
  const { store, server } = await answering(({ url }) => {
    const next = Number(url.searchParams.get("continuation-token") ?? "0") + 1;
    const token = `<NextContinuationToken>${next}</NextContinuationToken>`;
    return listed(object(`${String(next).padStart(6, "0")}/`) + token, true);
  });
  assert.match((await failureOf(store.list("")))[1], /more than 100 pages without an object of larder/);
  assert.equal(server.requests.length, 0);
});

test("a removal reports what was not removed", async () => {
  const answers: readonly [string, readonly [string, RegExp] | undefined][] = [
    ["<DeleteResult/>", undefined],
    ["<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>", undefined],
    ["<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>", undefined],
    ["<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>", ["refused", /AccessDenied$/]],
    ["<DeleteResult><Error><Code>InternalError</Code></Error></DeleteResult>", ["unavailable", /InternalError$/]],
    ["<DeleteResult><Error><Code>a secret</Code></Error></DeleteResult>", ["refused", /an error$/]],
    ["<Error><Code>InternalError</Code></Error>", ["damaged", /it has no DeleteResult/]],
    ["", ["damaged", /the end is missing/]],
  ];
  for (const [body, expected] of answers) {
    const { store } = await answering(() => ok(body));
    const call = store.remove(["a", "b"]);
    if (expected === undefined) await call;
    else {
      const [kind, message] = await failureOf(call);
      assert.equal(kind, expected[0], body);
      assert.match(message, expected[1]);
    }
  }
});

test("an upload is aborted when a part of it fails, and its end is read with care", async () => {
  const completed = (body: string) => (request: FakeRequest) =>
    request.method === "POST" && request.url.searchParams.has("uploadId") ? ok(body) : undefined;
  const cases: readonly [(request: FakeRequest) => FakeAnswer | undefined, readonly [string, RegExp]][] = [
    [
      ({ url }) => (url.searchParams.get("partNumber") === "2" ? problem(500, "InternalError") : undefined),
      ["unavailable", /500/],
    ],
    [
      ({ url }) => (url.searchParams.get("partNumber") === "2" ? ok("") : undefined),
      ["damaged", /a part has no valid ETag/],
    ],
    [
      ({ url }) => (url.searchParams.get("partNumber") === "1" ? ok("", { etag: "a b" }) : undefined),
      ["damaged", /ETag/],
    ],
    [completed(" <Error><Code>InternalError</Code></Error>"), ["unavailable", /InternalError$/]],
    [completed("<Error><Code>InvalidPart</Code></Error>"), ["refused", /InvalidPart$/]],
    [completed("<Error/>"), ["refused", /an error without a code$/]],
    [completed("   "), ["damaged", /the end is missing/]],
    [completed("<Error><Code>PreconditionFailed</Code></Error>"), ["unavailable", /does not have the object/]],
    [completed("<Error><Code>NoSuchUpload</Code></Error>"), ["unavailable", /does not have the object/]],
    [
      ({ method, url }) =>
        method === "POST" && url.searchParams.has("uploadId") ? problem(409, "ConditionalRequestConflict") : undefined,
      ["unavailable", /409 ConditionalRequestConflict$/],
    ],
    [
      ({ url }) => (url.searchParams.has("uploads") ? ok("<InitiateMultipartUploadResult/>") : undefined),
      ["damaged", /no valid UploadId/],
    ],
    [
      ({ url }) =>
        url.searchParams.has("uploads")
          ? ok("<InitiateMultipartUploadResult><UploadId>a\nb</UploadId></InitiateMultipartUploadResult>")
          : undefined,
      ["damaged", /no valid UploadId/],
    ],
  ];
  for (const [answerTo, [expectedKind, expectedText]] of cases) {
    const { store, server } = await answering(answerTo, { isConditional: false });
    const [kind, message] = await failureOf(store.putNew("large", LARGE));
    assert.match(message, expectedText);
    assert.equal(kind, expectedKind, message);
    assert.equal(server.uploads.size, 0, message);
    assert.equal(server.objects.size, 0, message);
  }
});

test("a content that became shorter is a fault of the content, and its upload is aborted", async () => {
  const { store, server } = await s3On({ sizes });
  const shrunk = {
    bytes: LARGE.bytes,
    read: async (start: number, end: number) => (start === 0 ? Buffer.alloc(end) : Buffer.alloc(1)),
  };
  await assert.rejects(store.putNew("large", shrunk), {
    name: "Error",
    message: "The content of an object has 1 bytes at 600 in place of 600",
  });
  assert.equal(server.uploads.size, 0);
});

test("the store refuses bytes that are not those of the checksum that is known", async () => {
  const { store } = await s3On({ sizes });
  const bytes = Buffer.from("small");
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  assert.equal(await store.putNew("good", { ...SMALL, sha256 }), "stored");
  const changed = contentOf(Buffer.from("smell"));
  assert.deepEqual(await failureOf(store.putNew("bad", { ...changed, sha256 })), [
    "unavailable",
    "s3://bucket, bad: the store answered 400 XAmzContentSHA256Mismatch",
  ]);
  assert.deepEqual(await store.list(""), [{ name: "good", bytes: 5 }]);
});

test("a request without progress is given up after 30 s, and one that never ends after 15 min", async () => {
  const clock = new VirtualClock();
  const stall = Promise.withResolvers<void>();
  const isAborted: boolean[] = [];
  const silent = await s3On({
    clock,
    between: () => (request) => {
      stall.resolve();
      return new Promise(() => request.signal.addEventListener("abort", () => isAborted.push(true)));
    },
  });
  const call = failureOf(silent.store.get("a", RANGE));
  await stall.promise;
  clock.advance(29_999);
  assert.deepEqual(isAborted, []);
  clock.advance(1);
  assert.deepEqual(await call, ["unavailable", "s3://bucket, a: the request failed: made no progress for 30 s"]);
  assert.deepEqual(isAborted, [true]);

  // A byte every 29 s.
  const slow = await s3On({
    clock,
    between: () => async () => ({
      status: 206,
      headers: {},
      body: (async function* () {
        for (;;) {
          clock.advance(29_000);
          yield Buffer.alloc(1);
        }
      })(),
    }),
  });
  const [kind, message] = await failureOf(slow.store.get("a", { start: 0, end: 1_000 }));
  assert.deepEqual([kind, message], ["unavailable", "s3://bucket, a: the request failed: did not end in 15 min"]);
});
