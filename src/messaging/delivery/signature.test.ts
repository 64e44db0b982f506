import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Receiver } from "@upstash/qstash";
import fc from "fast-check";
import { signDelivery } from "./signature.ts";

const key = "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r";
const nowMs = 1_777_982_400_123;

test("C.signature: a token of three parts with the claims of the interface", () => {
  const token = signDelivery({ key, url: "https://example.com/a?b=1", body: "hello", nowMs, tokenId: "jwt_1" });
  const [header = "", claims = "", signature = ""] = token.split(".");
  assert.equal(Buffer.from(header, "base64url").toString(), '{"alg":"HS256","typ":"JWT"}');
  assert.deepEqual(JSON.parse(Buffer.from(claims, "base64url").toString()), {
    iss: "Upstash",
    sub: "https://example.com/a?b=1",
    iat: 1_777_982_400,
    nbf: 0,
    exp: 1_777_982_700,
    jti: "jwt_1",
    body: "LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
  });
  assert.equal(signature, createHmac("sha256", key).update(`${header}.${claims}`).digest("base64url"));
});

test("C.signature: the official receiver accepts it, and rejects another body, URL or key", async () => {
  const receiver = new Receiver({ currentSigningKey: key, nextSigningKey: "sig_next" });
  const url = 'https://example.com/ünï?q="x"&y=\\';
  const body = '{"text":"grüße\\n"}';
  // The receiver compares the expiry with the wall clock: the year 2100.
  const futureMs = 4_102_444_800_000;
  const bodies: (string | Uint8Array)[] = [body, Buffer.from(body)];
  for (const given of bodies) {
    const signature = signDelivery({ key, url, body: given, nowMs: futureMs, tokenId: "jwt_1" });
    assert.equal(await receiver.verify({ signature, body, url }), true);
    await assert.rejects(receiver.verify({ signature, body: `${body} `, url }));
    await assert.rejects(receiver.verify({ signature, body, url: `${url}z` }));
  }
  const withNext = signDelivery({ key: "sig_next", url, body, nowMs: futureMs, tokenId: "jwt_2" });
  assert.equal(await receiver.verify({ signature: withNext, body, url }), true);
  const withOther = signDelivery({ key: "sig_other", url, body, nowMs: futureMs, tokenId: "jwt_3" });
  await assert.rejects(receiver.verify({ signature: withOther, body, url }));
});

test("an empty body has the hash of no bytes", () => {
  const [, claims = ""] = signDelivery({ key, url: "https://a.b/", body: "", nowMs, tokenId: "jwt_1" }).split(".");
  const { body } = JSON.parse(Buffer.from(claims, "base64url").toString());
  assert.equal(body, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
});

test("signs keys and URLs of any length as Node's HMAC does", () => {
  const text = fc.oneof(fc.string({ maxLength: 200 }), fc.string({ unit: "grapheme", maxLength: 3_000 }));
  fc.assert(
    fc.property(text, text, fc.uint8Array({ maxLength: 300 }), (anyKey, path, body) => {
      const url = `https://example.com/${path}`;
      const token = signDelivery({ key: anyKey, url, body, nowMs, tokenId: "jwt_é" });
      const [header = "", claims = "", signature = ""] = token.split(".");
      const { sub, jti } = JSON.parse(Buffer.from(claims, "base64url").toString());
      assert.equal(sub, Buffer.from(url).toString());
      assert.equal(jti, "jwt_é");
      assert.equal(signature, createHmac("sha256", anyKey).update(`${header}.${claims}`).digest("base64url"));
    }),
  );
});

test("signs correctly with more keys than the cache holds", () => {
  for (let number = 0; number < 2_100; number += 1) {
    const token = signDelivery({ key: `sig_${number}`, url: "https://a.b/", body: "", nowMs, tokenId: "jwt_1" });
    const signed = token.slice(0, token.lastIndexOf("."));
    const expected = createHmac("sha256", `sig_${number}`).update(signed).digest("base64url");
    assert.equal(token.slice(signed.length + 1), expected);
  }
});

test("a URL that is signed again has the time and the id of each token, whatever the length of the URL", () => {
  for (let length = 0; length < 7; length += 1) {
    const url = `https://a.b/é${"x".repeat(length)}`;
    for (const [ms, iat, tokenId] of [
      [1_000, 1, "jwt_1"],
      [1_999, 1, "jwt_22"],
      [2_000, 2, "jwt_3"],
      [1_000, 1, 'jwt_"4'],
    ] as const) {
      const token = signDelivery({ key, url, body: "hello", nowMs: ms, tokenId });
      const [header = "", claims = "", signature = ""] = token.split(".");
      assert.equal(
        Buffer.from(claims, "base64url").toString(),
        `{"iss":"Upstash","sub":"${url}","iat":${iat},"nbf":0,"exp":${iat + 300},"jti":${JSON.stringify(tokenId)},"body":"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ"}`,
      );
      assert.equal(claims, Buffer.from(claims, "base64url").toString("base64url"));
      assert.equal(signature, createHmac("sha256", key).update(`${header}.${claims}`).digest("base64url"));
    }
  }
});

test("signs correctly with more URLs than the cache holds, and with long ones", () => {
  for (let number = 0; number < 600; number += 1) {
    const url = `https://a.b/${"x".repeat(number)}`;
    for (let times = 0; times < 2; times += 1) {
      const [, claims = ""] = signDelivery({ key, url, body: "", nowMs, tokenId: "jwt_1" }).split(".");
      assert.equal(JSON.parse(Buffer.from(claims, "base64url").toString()).sub, url);
    }
  }
});
