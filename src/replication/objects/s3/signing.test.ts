/** The examples of "Signature Calculations for the Authorization Header" in the API reference of Amazon S3. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { loadSign } from "./signing.ts";

const context = {
  credentials: {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    sessionToken: undefined,
  },
  region: "us-east-1",
  nowMs: Date.UTC(2013, 4, 24),
};
const HOST = "https://examplebucket.s3.amazonaws.com";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const examples: readonly {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyHash: string;
  readonly signedHeaders: string;
  readonly signature: string;
}[] = [
  {
    name: "GET object",
    method: "GET",
    url: `${HOST}/test.txt`,
    headers: { range: "bytes=0-9" },
    bodyHash: EMPTY,
    signedHeaders: "host;range;x-amz-content-sha256;x-amz-date",
    signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  },
  {
    name: "PUT object",
    method: "PUT",
    url: `${HOST}/test%24file.text`,
    headers: { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
    bodyHash: createHash("sha256").update("Welcome to Amazon S3.").digest("hex"),
    signedHeaders: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
    signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  },
  {
    name: "GET bucket lifecycle",
    method: "GET",
    url: `${HOST}/?lifecycle=`,
    headers: {},
    bodyHash: EMPTY,
    signedHeaders: "host;x-amz-content-sha256;x-amz-date",
    signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
  },
  {
    name: "list objects",
    method: "GET",
    url: `${HOST}/?max-keys=2&prefix=J`,
    headers: {},
    bodyHash: EMPTY,
    signedHeaders: "host;x-amz-content-sha256;x-amz-date",
    signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  },
];

test("requests are signed as in the examples of Amazon", async () => {
  const sign = await loadSign();
  for (const { name, signedHeaders, signature, ...request } of examples) {
    const { authorization } = await sign(request, context);
    assert.equal(
      authorization,
      `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ` +
        `SignedHeaders=${signedHeaders}, Signature=${signature}`,
      name,
    );
  }
});

test("a session token is a header that is signed, and other credentials give another signature", async () => {
  const sign = await loadSign();
  const request = { method: "GET", url: `${HOST}/a`, headers: {}, bodyHash: EMPTY };
  const withToken = { ...context, credentials: { ...context.credentials, sessionToken: "a token/+" } };
  const first = await sign(request, withToken);
  assert.equal(first["x-amz-security-token"], "a token/+");
  assert.match(
    first["authorization"] ?? "",
    /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/,
  );
  const second = await sign(request, { ...context, credentials: { ...context.credentials, secretAccessKey: "other" } });
  const third = await sign(request, context);
  assert.equal(new Set([first, second, third].map((headers) => headers["authorization"]?.slice(-64))).size, 3);
});

test("without the package the error says how to install it", async () => {
  const load = () => Promise.reject(Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" }));
  await assert.rejects(loadSign(load), {
    name: "ObjectStoreFailure",
    kind: "refused",
    message: "A copy in S3 needs the package aws4fetch: run npm install aws4fetch beside larder",
  });
});
