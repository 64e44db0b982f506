/** The caller's address behind a trusted proxy, wherever it is shown or logged. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Larder } from "../../src/mod.ts";
import { startSuite } from "../harness/cluster/suite-server.ts";
import { suiteSetting } from "../harness/cluster/suite-setting.ts";
import { openStream } from "../harness/event-reader.ts";

const FORWARDED = { "x-forwarded-for": "198.51.100.66, 203.0.113.9" };

/** The places that show the address of a caller: a message, MONITOR, ACL LOG and, of a single server, the audit log. */
async function seen(larder: Larder, dataDir: string): Promise<readonly unknown[]> {
  const { messaging, store, admin } = larder;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}`, ...FORWARDED });
  const published = await fetch(`${messaging.url}/v2/publish/https://example.test`, {
    method: "POST",
    headers: { ...bearer(messaging.token), "upstash-delay": "1h" },
  });
  const { messageId } = (await published.json()) as { messageId: string };
  const shown = await fetch(`${messaging.url}/v2/messages/${messageId}`, { headers: bearer(messaging.token) });
  const { callerIP } = (await shown.json()) as { callerIP: string };

  const monitor = await openStream(`${store.url}/monitor`, { token: store.token });
  await monitor.next();
  await fetch(`${store.url}/echo/hello`, { headers: bearer(store.token) });
  const line = await monitor.next();
  monitor.leave();

  await fetch(`${store.url}/set/k/v`, { headers: bearer(store.readOnlyToken) });
  const log = await fetch(`${store.url}/acl/log`, { headers: bearer(store.token) });

  const shownEverywhere = [
    callerIP,
    / \[0 (\S+)\] /.exec(line ?? "")?.[1]?.replace(/:[1-9]\d*$/, ":port"),
    / addr=(\S+)/.exec(await log.text())?.[1]?.replace(/:[1-9]\d*$/, ":port"),
  ];
  if (suiteSetting() !== undefined) return shownEverywhere;
  await fetch(`${admin.url}/v1/databases`, {
    method: "POST",
    headers: bearer(admin.token),
    body: '{"name":"shop"}',
  });
  const audit = readFileSync(join(dataDir, "audit.log"), "utf8");
  const created = audit.split("\n").find((each) => each.includes("databases.create")) ?? "{}";
  return [...shownEverywhere, JSON.parse(created).caller];
}

for (const [name, trustedProxies, expected] of [
  ["a trusted proxy names the caller", "127.0.0.0/8", ["203.0.113.9", "203.0.113.9:0", "203.0.113.9:0", "203.0.113.9"]],
  [
    "without trusted proxies the caller is the peer",
    "",
    ["127.0.0.1", "127.0.0.1:port", "127.0.0.1:port", "127.0.0.1"],
  ],
] as const) {
  test(`${name}, of a message, in MONITOR, ACL LOG and the audit log`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "larder-proxies-"));
    try {
      await using larder = await startSuite({ dataDir, trustedProxies, destinations: "public" });
      assert.deepEqual(await seen(larder, dataDir), suiteSetting() === undefined ? expected : expected.slice(0, 3));
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });
}
