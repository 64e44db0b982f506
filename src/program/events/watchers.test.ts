import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness, request } from "../../../test/harness/messaging-harness.ts";
import type { HttpReply, RequestHead } from "../../edge/handler.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import { defaultLimits, readPublishOptions } from "../../messaging/mod.ts";
import { EventReporter } from "./reporter.ts";
import { commandWatcher, messagingWatcher, refusalWatcher, shownPath, shownToken, shownUrl } from "./watchers.ts";

/** A reporter whose lines are listed without their time. */
function listed() {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line.slice("00:00:00 ".length).trimEnd());
  const facts = { isDebug: false, isColoured: false, level: "info", log: silentLog } as const;
  return { lines, events: new EventReporter({ ...facts, write, clock: new VirtualClock() }) };
}

const paths: readonly (readonly [target: string, shown: string])[] = [
  ["/", "/"],
  ["/set/key/secret", "/set/…"],
  ["/pipeline?_token=secret", "/pipeline"],
  ["/v2/publish/https://a.test/x", "/v2/publish/…"],
  ["/v2/messages/msg_1?x=secret", "/v2/messages/…"],
  ["/store/set/key/secret", "/store/set/…"],
  ["/messaging/v2/keys", "/messaging/v2/keys"],
  ["/v1/databases/shop", "/v1/databases/…"],
];

for (const [target, shown] of paths)
  test(`the path ${target} is shown as ${shown}`, () => {
    assert.equal(shownPath(target), shown);
  });

const urls: readonly (readonly [url: string, shown: string])[] = [
  ["https://a.test/x", "https://a.test/x"],
  ["https://a.test/x?key=secret#y", "https://a.test/x?…"],
  ["https://user:secret@a.test/x@y", "https://…@a.test/x@y"],
  ["group", "group"],
];

for (const [url, shown] of urls)
  test(`the URL ${url} is shown as ${shown}`, () => {
    assert.equal(shownUrl(url), shown);
  });

const tokens: readonly (readonly [authorization: string | undefined, target: string, shown: string])[] = [
  [undefined, "/", "missing"],
  ["", "/", "missing"],
  ["Bearer abcdefghijkl", "/", "abcd… of 12 characters"],
  ["Bearer abcdefghijk", "/", "… of 11 characters"],
  ["bearer  x", "/", "… of 1 characters"],
  [undefined, "/get/a?b=c&_token=abcdefghijklm", "abcd… of 13 characters"],
];

for (const [authorization, target, shown] of tokens)
  test(`S-09: a refused token is shown as ${shown}`, () => {
    assert.equal(shownToken(authorization, target), shown);
  });

test("a refused request has its listener, path, status, reason and the start of its token", () => {
  const { lines, events } = listed();
  const report = refusalWatcher(events, "store");
  const header = (name: string): string | undefined =>
    name === "authorization" ? "Bearer secret-canary-token" : undefined;
  const head = { method: "GET", target: "/set/k/v", header } as unknown as RequestHead;
  const reply = (body: HttpReply["body"], bodyIsBytes = false): Pick<HttpReply, "body" | "bodyIsBytes"> => ({
    body,
    bodyIsBytes,
  });
  report({ head, status: 401, reply: reply('{"error":"WRONGPASS no"}') });
  report({ head, status: 400, reply: reply(Buffer.from('{"error":{"code":"ä"}}')) });
  report({ head, status: 400, reply: reply('{"error":"\u00c3\u00a4"}', true) });
  report({ head, status: 503, reply: reply("busy") });
  report({ head: undefined, status: 400, reply: reply("Malformed") });
  report({ head, status: 200, reply: reply("ERR unknown command 'x', with args beginning with: 'secret'", true) });
  assert.deepEqual(lines, [
    "refused     store: GET /set/…: 401 WRONGPASS no (token secr… of 19 characters)",
    'refused     store: GET /set/…: 400 {"code":"ä"}',
    "refused     store: GET /set/…: 400 ä",
    "refused     store: GET /set/…: 503 busy",
    "refused     store: an unreadable request: 400 Malformed",
    "failed      command over HTTP: ERR unknown command 'x'",
  ]);
});

test("a failed command over RESP has its error, without the arguments", () => {
  const { lines, events } = listed();
  commandWatcher(events)("ERR unknown command 'f\u00c3\u00a4', with args beginning with: 'secret' ");
  assert.deepEqual(lines, ["failed      command over RESP: ERR unknown command 'fä'"]);
});

/** Messaging in virtual time whose events are listed; ids are replaced by `id`. */
async function watched() {
  const { lines, events } = listed();
  const harness = new MessagingHarness();
  harness.watcher = messagingWatcher(events, harness.clock);
  harness.restart();
  await harness.messaging.createUser("main", { current: "sig_current", next: "sig_next" });
  return { harness, lines: () => lines.map((line) => line.replace(/msg_\w+/g, "id")) };
}

test("a delivery that fails is printed with each retry, its next moment, and its dead letter", async () => {
  const { harness, lines } = await watched();
  harness.destination = ({ url }) => (url.includes("down") ? { kind: "failure", text: "no route" } : answered(500));
  await harness.publish("https://a.test/x?key=secret", { retriesMax: 1 });
  await harness.publish("https://down.test/", { retriesMax: 0 });
  await harness.advance(20_000);
  assert.deepEqual(lines(), [
    "delivery    POST https://a.test/x?…: 500 in 0 ms (id)",
    "retry       1 of 1 of https://a.test/x?… at 00:00:12, in 12.0 s (id)",
    "delivery    POST https://down.test/: no route in 0 ms (id)",
    "dead letter https://down.test/: no route (id)",
    "delivery    POST https://a.test/x?…: 500 in 0 ms (id)",
    "dead letter https://a.test/x?…: status 500 (id)",
  ]);
});

test("a delivery has the time from its call to its answer", async () => {
  const { harness, lines } = await watched();
  harness.destination = () => "later";
  await harness.publish("https://a.test/");
  await harness.advance(250);
  harness.calls[0]?.answer(answered(204));
  await harness.settle();
  assert.deepEqual(lines(), ["delivery    POST https://a.test/: 204 in 250 ms (id)"]);
});

test("a schedule that fires is printed with its messages and its next time, a paused one is not", async () => {
  const { harness, lines } = await watched();
  const { options } = request("");
  const plan = { cron: "* * * * *", options, body: Buffer.from("tick"), callerIp: "" };
  await harness.user.putSchedule({ ...plan, id: "scd_1", destination: "https://a.test/?key=secret" });
  await harness.user.putSchedule({ ...plan, id: "scd_2", destination: "https://b.test/" });
  await harness.user.pauseSchedule("scd_2", true);
  await harness.advance(60_000);
  assert.deepEqual(lines(), [
    "schedule    scd_1 to https://a.test/?…: 1 message, next 2026-01-01T00:02:00.000Z",
    "delivery    POST https://a.test/?…: 200 in 0 ms (id)",
  ]);
});

test("a workflow run is printed with its steps and its end", async () => {
  const { harness, lines } = await watched();
  harness.destination = () => answered(200, ["upstash-workflow-sdk-version", "1"]);
  const publish = async (headers: readonly string[], body: string): Promise<void> => {
    const context = { limits: defaultLimits, nowMs: harness.clock.nowMs(), refusalOf: () => undefined };
    const options = readPublishOptions({ own: headers, contentType: undefined, others: () => [] }, context);
    await harness.user.publish([{ destination: "https://app.test/", body: Buffer.from(body), options, callerIp: "" }]);
    await harness.advance(1_000);
  };
  await publish(["workflow-init", "true", "workflow-runid", "wfr_1"], "begin");
  await publish(["workflow-runid", "wfr_1"], '{"stepId":0,"targetStep":1}');
  await publish(["workflow-runid", "wfr_1"], '{"stepId":1,"stepName":"mail\\u001b","out":"secret"}');
  await harness.user.workflows.finish("wfr_1", Buffer.from("done"));
  const all = lines().filter((line) => !line.startsWith("delivery"));
  assert.deepEqual(all, [
    'step        1 "mail\\u001b" of wfr_1',
    "run         wfr_1 of https://app.test/: success after 3.0 s",
  ]);
});
