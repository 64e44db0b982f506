/** A server with data of every kind, some of it hostile: markup, text from right to left, binary, long. */
import assert from "node:assert/strict";
import { type Larder, start } from "../../src/mod.ts";
import { RawPeer } from "../harness/raw-peer.ts";

/** Sets `window.hacked` if a page runs it. */
export const MARKUP = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'><b>`;
/** The same, in the characters of names of clients and libraries. */
export const MARKUP_WORD = `<img/src=x/onerror="window.hacked=1">`;
export const RIGHT_TO_LEFT = "\u202emalicious\u2066 \u05e9\u05dc\u05d5\u05dd";
const LONG_LENGTH = 10_000_000;

export async function startWithData(): Promise<Larder> {
  const larder = await start({ allowDestination: ["loopback"], respPort: 0 });
  await fillStore(larder);
  await connectClient(larder, "CLIENT", "SETNAME", MARKUP_WORD);
  await fillVector(larder);
  await fillMessaging(larder);
  return larder;
}

/** A client over RESP whose user, library and version are markup, which has then sent one command; the server ends it. */
export async function connectClient({ env, store }: Larder, ...words: readonly string[]): Promise<RawPeer> {
  await post(store, "/", ["ACL", "SETUSER", MARKUP_WORD, "on", ">password", "~*", "&*", "+@all"]);
  const peer = await RawPeer.open(Number(new URL(env["REDIS_URL"] ?? "").port));
  for (const command of [
    ["AUTH", `${MARKUP_WORD}@main`, "password"],
    ["CLIENT", "SETINFO", "LIB-NAME", MARKUP_WORD],
    ["CLIENT", "SETINFO", "LIB-VER", MARKUP_WORD],
    words,
  ]) {
    peer.say([`*${command.length}`, ...command.flatMap((word) => [`$${word.length}`, word]), ""].join("\r\n"));
    assert.equal(await peer.hear(5), "+OK\r\n", command.join(" "));
  }
  return peer;
}

async function post(area: { url: string; token: string }, path: string, body: unknown, headers = {}): Promise<void> {
  const response = await fetch(area.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${area.token}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  assert.ok(response.ok, `${path}: ${await response.text()}`);
}

async function fillStore({ store }: Larder): Promise<void> {
  await post(store, "/pipeline", [
    ["SET", "greeting", "hello"],
    ["SET", MARKUP, MARKUP],
    ["SET", RIGHT_TO_LEFT, RIGHT_TO_LEFT],
    ["SET", "user:1:name", "Ada"],
    ["SET", "user:2:name", "Grace"],
    ["SETBIT", "bits", 70, 1],
    ["PFADD", "visitors", "a", "b"],
    ["HSET", "hash", "field", "value", MARKUP, MARKUP],
    ["RPUSH", "list", MARKUP, ...Array.from({ length: 200 }, (_, index) => `item ${index}`)],
    ["SADD", "set", "a", MARKUP],
    ["ZADD", "scores", 1, "one", 2.5, MARKUP],
    ["XADD", "events", "*", "field", MARKUP],
    ["XGROUP", "CREATE", "events", "group", "0"],
    ["XREADGROUP", "GROUP", "group", "reader", "STREAMS", "events", ">"],
    ["JSON.SET", "document", "$", JSON.stringify({ title: MARKUP, list: [1, 2, { deep: true }] })],
    ["SET", "expiring", "soon", "EX", 1_000],
  ]);
  await post(store, "/set/long", "x".repeat(LONG_LENGTH));
}

async function fillVector({ vector }: Larder): Promise<void> {
  await post(vector, `/upsert-data/${encodeURIComponent(MARKUP)}`, { id: "1", data: "text" });
  await post(
    vector,
    "/upsert-data",
    Array.from({ length: 150 }, (_, index) => ({
      id: index === 0 ? MARKUP : `record ${index}`,
      data: index === 1 ? MARKUP : `text number ${index}`,
      metadata: { index, text: index % 2 === 0 ? MARKUP : RIGHT_TO_LEFT },
    })),
  );
}

async function fillMessaging({ messaging, store }: Larder): Promise<void> {
  // Answers 404 at once: without retries each is a dead letter.
  const failing = `${store.url}/no/such/path/${encodeURIComponent(MARKUP)}`;
  await post(
    messaging,
    `/v2/publish/${failing}`,
    { text: MARKUP },
    { "upstash-retries": "0", "upstash-label": "failing" },
  );
  await post(messaging, `/v2/publish/${failing}`, MARKUP, {
    "upstash-delay": "1h",
    "upstash-forward-authorization": MARKUP.replaceAll(/[^ -~]/g, ""),
  });
  await post(messaging, "/v2/queues", { queueName: "orders", parallelism: 2 });
  await post(messaging, `/v2/enqueue/orders/${failing}`, { order: 1 }, { "upstash-delay": "1h" });
  await post(
    messaging,
    `/v2/schedules/${failing}`,
    { nightly: true },
    { "upstash-cron": "0 3 * * *", "upstash-schedule-id": "nightly" },
  );
  await post(messaging, "/v2/topics/everyone/endpoints", { endpoints: [{ url: failing, name: "first" }] });
  await post(
    messaging,
    `/v2/publish/${failing}`,
    {},
    { "upstash-delay": "1h", "upstash-flow-control-key": "key", "upstash-flow-control-value": "parallelism=1" },
  );
  await post(messaging, `/v2/trigger/${failing}`, { order: MARKUP }, { "upstash-retries": "0" });
}
