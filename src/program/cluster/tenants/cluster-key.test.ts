/** Secrets of tenants under the key of a cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterKey, type SealedPlace, type TenantSecrets } from "./cluster-key.ts";

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString("base64");
const OTHER = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 5)).toString("base64");
const CLUSTER = "6f1d6c0e-0000-4000-8000-000000000001";

const place: SealedPlace = { area: "messaging", name: "shop", version: 7 };
const secrets: TenantSecrets = {
  token: "token-8f2d1c7b6a5e4f30",
  readOnlyToken: "reader-1c7b6a5e4f308f2d",
  currentSigningKey: "sig_current",
  nextSigningKey: "sig_next",
};

test("the key opens what it has sealed, and two seals of the same secrets differ", () => {
  const key = new ClusterKey(KEY, CLUSTER);
  const sealed = key.seal(secrets, place);
  assert.deepEqual(key.open(sealed, place), secrets);
  assert.notDeepEqual(key.seal(secrets, place), sealed);
  const { token, readOnlyToken } = secrets;
  const pair = { token, readOnlyToken };
  assert.deepEqual(key.open(key.seal(pair, place), place), pair);
});

test("the key opens what an earlier version has sealed, and has the same check value", () => {
  const key = new ClusterKey(KEY, CLUSTER);
  const sealed = [
    "0136a355e2d91413e71eda924bdd68c4f25182b8b806ff0ea19e2a6b519efde65356bf4c0cae65689307aebfc99321b3e82956ee525e740e",
    "e637f904f5a9394a7430fb5af0e8dff1603ea749914f8116dfd23641a740101b29d4b74941935808fb94e7b69a0c8c20326f8c5adf0505b3",
    "f7def8d94a8de39f38f57d0f5771be68b6670346c66f32e755b893b27350ccc0a5e56a8df4e474c556530e4a00c60bb14a29c457f03c85",
  ].join("");
  assert.deepEqual(key.open(Buffer.from(sealed, "hex"), place), secrets);
  assert.equal(key.check.toString("hex"), "01ebd07ef5581a7fa6137b0b5ec7cf6bf2f63f241566de68188bb4bf128dbf68");
});

test("sealed bytes have no secret in clear", () => {
  const sealed = new ClusterKey(KEY, CLUSTER).seal(secrets, place);
  for (const secret of [...Object.values(secrets), "token", KEY]) {
    assert.equal(sealed.includes(secret), false, secret);
    assert.equal(
      sealed.toString("base64").includes(Buffer.from(secret).toString("base64").slice(0, -4)),
      false,
      secret,
    );
  }
});

test("sealed bytes open only in their area, for their name and at their version", () => {
  const key = new ClusterKey(KEY, CLUSTER);
  const sealed = key.seal(secrets, place);
  for (const other of [
    { ...place, area: "store" },
    { ...place, name: "shop2" },
    { ...place, version: 8 },
  ] as const)
    assert.equal(key.open(sealed, other), undefined);
});

test("bytes that were changed or cut do not open, nor those of another key or cluster", () => {
  const key = new ClusterKey(KEY, CLUSTER);
  const sealed = key.seal(secrets, place);
  for (const [index] of sealed.entries()) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.equal(key.open(changed, place), undefined, `byte ${index}`);
  }
  for (const length of [0, 1, 28, 29, sealed.length - 1])
    assert.equal(key.open(sealed.subarray(0, length), place), undefined);
  assert.equal(new ClusterKey(OTHER, CLUSTER).open(sealed, place), undefined);
  assert.equal(new ClusterKey(KEY, CLUSTER.replace("1", "2")).open(sealed, place), undefined);
});

test("the check value tells a key from another, and from that of another cluster", () => {
  const key = new ClusterKey(KEY, CLUSTER);
  assert.equal(key.isChecked(new ClusterKey(KEY, CLUSTER).check), true);
  assert.equal(key.isChecked(new ClusterKey(OTHER, CLUSTER).check), false);
  assert.equal(key.isChecked(new ClusterKey(KEY, CLUSTER.replace("1", "2")).check), false);
  assert.equal(key.isChecked(Buffer.alloc(3)), false);
});
