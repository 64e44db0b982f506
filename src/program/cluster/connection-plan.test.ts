import assert from "node:assert/strict";
import { test } from "node:test";
import { BadValue } from "../settings/values.ts";
import { encryptionOf, parseClusterUrl, parseSecretClusterUrl, printHosts } from "./connection-plan.ts";

const SECRET = "hunter2";

test("a URL of PostgreSQL has hosts, a login, a database and how it is encrypted", () => {
  for (const [url, hosts, login, rest] of [
    ["postgres://larder@db/larder", "db:5432", ["larder", undefined], ["larder", undefined, undefined]],
    ["postgresql://db:6000/app", "db:6000", [undefined, undefined], ["app", undefined, undefined]],
    [
      "postgres://la%40rder:p%3Aa%2Fss@db1,db2:5433,[::1]:5434/lar%20der?sslmode=require",
      "db1:5432, db2:5433, [::1]:5434",
      ["la@rder", "p:a/ss"],
      ["lar der", "require", undefined],
    ],
    [
      "postgres://larder:a:b@10.0.0.1/larder?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem",
      "10.0.0.1:5432",
      ["larder", "a:b"],
      ["larder", "verify-full", "/etc/ca.pem"],
    ],
  ] as const) {
    const plan = parseSecretClusterUrl(url);
    assert.equal(printHosts(plan), hosts);
    assert.deepEqual([plan.user, plan.password], login);
    assert.deepEqual([plan.database, plan.encryption, plan.rootCertificatePath], rest);
  }
});

test("a URL that cannot be read is refused without a part of it in the text", () => {
  for (const [url, expected] of [
    [`mysql://larder:${SECRET}@db/larder`, "the URL does not have the form postgres://<user>@<host>:<port>/<database>"],
    [`postgres://larder:${SECRET}@db`, "the URL does not have the form postgres://<user>@<host>:<port>/<database>"],
    [`${SECRET}`, "the URL does not have the form postgres://<user>@<host>:<port>/<database>"],
    [
      `postgres://larder:${SECRET}/x@db/larder`,
      "the URL does not have the form postgres://<user>@<host>:<port>/<database>",
    ],
    [
      `postgres://larder:${SECRET}@db:0/larder`,
      "a host of the URL is not <name>:<port>: separate several hosts by commas",
    ],
    [
      `postgres://larder:${SECRET}@db:65536/larder`,
      "a host of the URL is not <name>:<port>: separate several hosts by commas",
    ],
    [
      `postgres://larder:${SECRET}@db,,db2/larder`,
      "a host of the URL is not <name>:<port>: separate several hosts by commas",
    ],
    [
      `postgres://larder:${SECRET}%@db/larder`,
      "a part of the URL has a percent sign that begins no escape: write % as %25",
    ],
    [
      `postgres://larder:${SECRET}@db/larder?sslmode=prefer`,
      "sslmode of the URL is not one of disable, require, verify-full",
    ],
    [`postgres://larder@db/larder?password=${SECRET}`, "the URL may have the parameters sslmode and sslrootcert only"],
  ] as const)
    assert.throws(
      () => parseSecretClusterUrl(url),
      (fault) => fault instanceof BadValue && fault.message === expected && !fault.message.includes(SECRET),
      url,
    );
});

test("a URL that others may read has no password", () => {
  assert.equal(parseClusterUrl("postgres://larder@db/larder").user, "larder");
  assert.throws(() => parseClusterUrl(`postgres://larder:${SECRET}@db/larder`), {
    message:
      "the URL has a password, which others may read here: set the variable LARDER_CLUSTER_URL or LARDER_CLUSTER_URL_FILE instead",
  });
});

test("connections to other machines are encrypted and verified unless the URL says otherwise", () => {
  for (const [url, expected] of [
    ["postgres://db/larder", "verify-full"],
    ["postgres://10.0.0.1/larder", "verify-full"],
    ["postgres://127.0.0.1/larder", "disable"],
    ["postgres://localhost/larder", "disable"],
    ["postgres://[::1]/larder", "disable"],
    ["postgres://127.0.0.1/larder?sslmode=verify-full", "verify-full"],
    ["postgres://db/larder?sslmode=disable", "disable"],
    ["postgres://db/larder?sslmode=require", "require"],
  ] as const) {
    const plan = parseSecretClusterUrl(url);
    assert.equal(encryptionOf(plan, plan.hosts[0] as (typeof plan.hosts)[0]), expected, url);
  }
});
