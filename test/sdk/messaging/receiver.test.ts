/** Signatures in the official receiver: keys, rotation, URL, body, regions; and foreign signatures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, Receiver, SignatureError } from "@upstash/qstash";
import { start } from "../../../src/mod.ts";
import type { Delivery } from "../../harness/recording-destination.ts";
import { Served } from "./served.ts";

const CURRENT = "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r";
const NEXT = "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs";
const URL_CALLED = "https://a.test/b?x=1";

const served = new Served();
const receiver = new Receiver({ currentSigningKey: CURRENT, nextSigningKey: NEXT, devMode: false });

interface Signed {
  readonly signature: string;
  readonly body: string;
  readonly delivery: Delivery;
}

async function deliver(client = served.client(), given = "payload"): Promise<Signed> {
  const count = served.destination.deliveries.length;
  await client.publish({ url: URL_CALLED, body: given });
  const delivery = (await served.destination.arrived(count + 1))[count];
  assert.ok(delivery !== undefined);
  return { signature: String(delivery.headers["upstash-signature"]), body: delivery.body, delivery };
}

test("a delivery verifies with the current key, its URL and its body", async () => {
  const { signature, body } = await deliver();
  assert.equal(await receiver.verify({ signature, body, url: URL_CALLED }), true);
  assert.equal(await receiver.verify({ signature, body }), true);
});

test("bodies of any kind verify", async () => {
  for (const text of ["", "grüße 🎉", "a\r\n\u0000b"]) {
    const { signature, body } = await deliver(served.client(), text);
    assert.equal(body, text);
    assert.equal(await receiver.verify({ signature, body, url: URL_CALLED }), true);
  }
});

test("another URL, another body and another signature do not verify", async () => {
  const { signature, body } = await deliver();
  const [head, claims = "", mac] = signature.split(".");
  const forged = JSON.parse(Buffer.from(claims, "base64url").toString());
  forged.sub = "https://other.test/";
  const other = [head, Buffer.from(JSON.stringify(forged)).toString("base64url"), mac].join(".");
  const rows = [
    [{ signature, body, url: "https://a.test/b?x=2" }, `invalid subject: ${URL_CALLED}, want: https://a.test/b?x=2`],
    [{ signature, body: `${body} `, url: URL_CALLED }, /^body hash does not match/],
    [{ signature: other, body }, "signature verification failed"],
    [{ signature: "nonsense", body }, "Invalid Compact JWS"],
  ] as const;
  for (const [request, message] of rows) {
    await assert.rejects(receiver.verify(request), (error) => {
      assert.ok(error instanceof SignatureError);
      if (typeof message === "string") assert.equal(error.message, message);
      else assert.match(error.message, message);
      return true;
    });
  }
});

test("with other keys nothing verifies", async () => {
  const { signature, body } = await deliver();
  const stranger = new Receiver({ currentSigningKey: "sig_a", nextSigningKey: "sig_b", devMode: false });
  await assert.rejects(stranger.verify({ signature, body }), { name: "SignatureError" });
});

test("after a rotation the old receiver verifies with its next key, and a new one with its current key", async () => {
  const { destination } = served;
  await using larder = await start({ outboundMap: `*.test=127.0.0.1:${destination.port}` });
  const { url, token } = larder.messaging;
  const client = new Client({ baseUrl: url, token, devMode: false });
  const keys = async (line: string): Promise<Record<string, string>> => {
    const [method = "", path = ""] = line.split(" ");
    const reply = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
    return (await reply.json()) as Record<string, string>;
  };
  assert.deepEqual(await keys("GET /v2/keys"), { current: CURRENT, next: NEXT });
  const before = await deliver(client);

  const rotated = await keys("POST /v2/keys/rotate");

  const { current: currentSigningKey = "", next: nextSigningKey = "" } = rotated;
  assert.equal(currentSigningKey, NEXT);
  assert.match(nextSigningKey, /^sig_[0-9A-Za-z]{28}$/);
  assert.deepEqual(await keys("GET /v2/keys"), rotated);
  const after = await deliver(client);
  const informed = new Receiver({ currentSigningKey, nextSigningKey, devMode: false });
  assert.equal(await receiver.verify({ ...after, url: URL_CALLED }), true);
  assert.equal(await informed.verify({ ...after, url: URL_CALLED }), true);
  await assert.rejects(informed.verify(before), { name: "SignatureError" });

  await keys("POST /v2/keys/rotate");
  await assert.rejects(receiver.verify(await deliver(client)), { name: "SignatureError" });
});

test("C-19: each attempt has its own signature, valid for five minutes", async () => {
  served.destination.answer = () => ({ status: 500 });
  const { messageId } = await served.client().publish({ url: URL_CALLED, retries: 1, retryDelay: "400000" });
  await served.logged(messageId, "RETRY");
  await served.advance(400_000);
  const claims = (await served.destination.arrived(2)).map(({ headers }) => {
    const [, middle = ""] = String(headers["upstash-signature"]).split(".");
    return JSON.parse(Buffer.from(middle, "base64url").toString());
  });

  const [first, second] = claims;
  for (const { iss, sub, iat, nbf, exp, jti, body } of claims) {
    assert.deepEqual([iss, sub, nbf, exp - iat], ["Upstash", URL_CALLED, 0, 300]);
    assert.match(jti, /^jwt_[0-9A-Za-z]+$/);
    assert.equal(body, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  }
  assert.notEqual(first.jti, second.jti);
  assert.ok(second.iat - first.iat >= 400);
});

test("a receiver with keys for two regions chooses by the region that the delivery names", async () => {
  const { delivery, ...request } = await deliver();
  const variables = {
    QSTASH_REGION: "US_EAST_1",
    US_EAST_1_QSTASH_CURRENT_SIGNING_KEY: CURRENT,
    US_EAST_1_QSTASH_NEXT_SIGNING_KEY: NEXT,
    EU_CENTRAL_1_QSTASH_CURRENT_SIGNING_KEY: "sig_a",
    EU_CENTRAL_1_QSTASH_NEXT_SIGNING_KEY: "sig_b",
  };
  Object.assign(process.env, variables);
  try {
    const upstashRegion = String(delivery.headers["upstash-region"]);
    const regional = new Receiver({ devMode: false });
    assert.equal(upstashRegion, "US-EAST-1");
    assert.equal(await regional.verify({ ...request, upstashRegion, url: URL_CALLED }), true);
    await assert.rejects(regional.verify({ ...request, upstashRegion: "EU-CENTRAL-1" }), { name: "SignatureError" });
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
});

test("a receiver in development mode has the keys of a development server", async () => {
  const { signature, body } = await deliver();
  assert.equal(await new Receiver({ devMode: true }).verify({ signature, body, url: URL_CALLED }), true);
});
