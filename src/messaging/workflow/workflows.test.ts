/** Runs on an engine without a server: held results, restarts, and the lifetime of bodies. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { answered, MessagingHarness } from "../../../test/harness/messaging-harness.ts";
import { moveBodies } from "../bodies/cleaning.ts";
import { defaultLimits, type MessagingLimits } from "../limits.ts";
import { readPublishOptions } from "../options/headers.ts";
import { replayFrame } from "../records/replay.ts";
import { snapshotFrames } from "../records/snapshot.ts";
import { MessagingState } from "../state/messaging-state.ts";
import { runState } from "../state/run.ts";
import { HOLD_MS } from "./holding.ts";

const url = "https://app.test/";
const SDK = ["upstash-workflow-sdk-version", "1"];

const NO_PART = {
  url: undefined,
  isInit: false,
  isInvoke: false,
  isRepublished: false,
  isUnknownSdk: false,
  features: [],
  hasRetries: true,
} as const;

async function publish(harness: MessagingHarness, headers: string, body: string) {
  const own = headers.split("; ").flatMap((pair) => pair.split("="));
  const context = { limits: defaultLimits, nowMs: harness.clock.nowMs(), refusalOf: () => undefined };
  const options = readPublishOptions({ own, contentType: undefined, others: () => [] }, context);
  const [outcome] = await harness.user.publish([
    { destination: url, body: Buffer.from(body), options, callerIp: "203.0.113.7" },
  ]);
  return outcome;
}

async function started(limits: Partial<MessagingLimits> = {}): Promise<MessagingHarness> {
  const harness = await MessagingHarness.start(limits);
  harness.destination = () => answered(200, SDK);
  await publish(harness, "workflow-init=true; workflow-runid=wfr_1", "begin");
  await harness.settle();
  return harness;
}

function listOf(body: string | undefined): readonly string[] {
  const entries = JSON.parse(body ?? "[]") as { body: string }[];
  return entries.map((entry) => Buffer.from(entry.body, "base64").toString());
}

test("W.hold-back: a result waits until the delivery under way has ended, a plan does not", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await publish(harness, "workflow-init=true; workflow-runid=wfr_1", "begin");
  await harness.settle();
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await harness.settle();
  assert.equal(harness.calls.length, 1);
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":0,"targetStep":2}');
  await harness.settle();
  assert.equal(harness.calls.length, 2);

  for (const call of harness.calls) call.answer(answered(200, SDK));
  await harness.settle();

  assert.deepEqual(listOf(harness.calls[2]?.body), ["begin", '{"stepId":1}']);
});

test("W.hold-back: a result waits no longer than the limit", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await publish(harness, "workflow-init=true; workflow-runid=wfr_1", "begin");
  await harness.settle();
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await harness.advance(HOLD_MS - 1);
  assert.equal(harness.calls.length, 1);
  await harness.advance(1);
  assert.equal(harness.calls.length, 2);
});

test("a run, its waiters and its messages survive a restart", async () => {
  const harness = await started();
  await publish(harness, "workflow-runid=wfr_1; delay=1h", '{"stepId":1}');
  await harness.user.workflows.notifyRun("wfr_1", "paid", Buffer.from("yes"));

  harness.restart();
  await harness.advance(3_600_000);

  assert.deepEqual(listOf(harness.calls.at(-1)?.body), ["begin", '{"stepId":1}']);
  const body = Buffer.from(JSON.stringify({ url, step: { stepId: 2 } }));
  const facts = { eventId: "paid", runId: "wfr_1", headers: [], contentType: undefined, refusalOf: () => undefined };
  await harness.user.workflows.wait({ ...facts, body });
  await harness.settle();
  assert.equal(listOf(harness.calls.at(-1)?.body).at(-1), '{"stepId":2,"waitEventId":"paid","out":"eWVz"}');
});

test("a delivery under way when its run ended is not repeated after a restart", async () => {
  const harness = await started();
  harness.destination = () => "later";
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await harness.settle();
  await harness.user.workflows.finish("wfr_1", Buffer.from("done"));
  const { length } = harness.calls;

  harness.restart();
  await harness.advance(60_000);

  assert.equal(harness.calls.length, length);
  assert.equal(harness.messaging.engine.state.messages.size, 0);
  assert.equal(harness.messaging.engine.state.envelopes.size, 0);
});

test("W.prefix: a delivery that is repeated after a restart carries the same bytes, whatever entries came after it", async () => {
  const harness = await started();
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await harness.settle();
  harness.destination = () => answered(500);
  await publish(harness, "workflow-runid=wfr_1; retries=3; retry-delay=1000", '{"stepId":2}');
  await harness.settle();
  const before = harness.calls.at(-1)?.body;
  await publish(harness, "workflow-runid=wfr_1; delay=1h", '{"stepId":3}');

  harness.restart();
  harness.destination = () => answered(200, SDK);
  await harness.advance(1_000);

  const call = harness.calls.at(-1);
  assert.equal(call?.headers.get("upstash-retried"), "1");
  assert.equal(call?.body, before);
  const claims = Buffer.from(call?.headers.get("upstash-signature")?.split(".")[1] ?? "", "base64url").toString();
  assert.equal(JSON.parse(claims).body, hash("sha256", before ?? "", "base64url"));
  assert.deepEqual(listOf(before), ["begin", '{"stepId":1}', '{"stepId":2}']);
});

test("the list of a second start has no entries of the first one", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(200, SDK);
  await publish(harness, "workflow-init=true; workflow-unknown-sdk=true; workflow-runid=wfr_1", "first");
  await harness.settle();
  await publish(harness, "workflow-init=true; workflow-trigger-by-sdk=true; workflow-runid=wfr_1", "second");
  await harness.settle();
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await harness.settle();
  assert.deepEqual(
    harness.calls.map(({ body }) => listOf(body)),
    [["first"], ["second"], ["second", '{"stepId":1}']],
  );
});

test("an ended run has no cached text of its list, not even a failed one", async () => {
  const harness = await started();
  const { payloads } = harness.messaging.engine.workflows;
  assert.equal(payloads.count, 1);
  await harness.user.workflows.finish("wfr_1", Buffer.from("done"));
  assert.equal(payloads.count, 0);

  harness.destination = () => answered(500);
  await publish(harness, "workflow-init=true; workflow-runid=wfr_2; retries=0", "bad");
  await harness.settle();
  assert.equal(harness.user.workflows.find("wfr_2")?.entries.length, 1);
  assert.deepEqual([payloads.count, payloads.bytes], [0, 0]);
});

test("an event with many waiters wakes them in several frames, except one that ended meanwhile", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(200, SDK);
  const wait = async (runId: string) => {
    await publish(harness, `workflow-init=true; workflow-runid=${runId}`, "begin");
    const facts = { runId, headers: ["workflow-runid", runId], contentType: undefined, refusalOf: () => undefined };
    const body = Buffer.from(JSON.stringify({ url, step: { stepId: 1 } }));
    await harness.user.workflows.wait({ ...facts, eventId: "paid", body });
  };
  for (let run = 1; run <= 700; run += 1) await wait(`wfr_${run}`);
  await harness.settle();
  harness.journal.hold();

  const telling = harness.user.workflows.notifyAll("paid", Buffer.from("yes"));
  assert.equal(harness.user.workflows.waiters("paid").length, 200);
  const cancelling = harness.user.workflows.cancel("wfr_700");
  harness.journal.release();
  const told = await telling;
  assert.equal(await cancelling, true);

  assert.equal(told.length, 699);
  assert.deepEqual(
    told.map(({ run }) => run.id),
    Array.from({ length: 699 }, (_, index) => `wfr_${index + 1}`),
  );
  assert.equal(harness.user.workflows.waiters("paid").length, 0);
});

test("runs that one call cancels end in several frames, except one that ended meanwhile", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(200, SDK);
  for (let run = 1; run <= 250; run += 1) {
    await publish(harness, `workflow-init=true; workflow-runid=wfr_${run}; delay=1h`, "begin");
  }
  const going = (): number => harness.user.workflows.list({ states: [runState.started] }, { count: 500 }).runs.length;
  harness.journal.hold();

  const cancelling = harness.user.workflows.cancelMatching({}, 500);
  assert.equal(going(), 150);
  const finishing = harness.user.workflows.finish("wfr_250", Buffer.from("done"));
  harness.journal.release();
  await finishing;

  assert.equal(await cancelling, 249);
  assert.equal(going(), 0);
  assert.equal(await harness.user.workflows.cancelMatching({}, 500), 0);
  harness.restart();
  assert.equal(going(), 0);
  assert.equal(harness.user.workflows.find("wfr_250")?.state, runState.success);
});

test("waits with the same deadline all end, in several turns", async () => {
  const harness = await started();
  const facts = { runId: "wfr_1", headers: ["workflow-runid", "wfr_1"], contentType: undefined };
  for (let stepId = 1; stepId <= 1_200; stepId += 1) {
    const body = Buffer.from(JSON.stringify({ url, step: { stepId }, timeout: "10s" }));
    await harness.user.workflows.wait({ ...facts, refusalOf: () => undefined, eventId: "paid", body });
  }
  await harness.advance(10_000);
  assert.equal(harness.user.workflows.waiters("paid").length, 0);
  assert.equal(harness.user.workflows.find("wfr_1")?.entries.length, 1_201);
});

test("C-25: a wait does not change its duration when the clock is set back", async () => {
  const harness = await started();
  const facts = { runId: "wfr_1", headers: ["workflow-runid", "wfr_1"], contentType: undefined };
  const body = Buffer.from(JSON.stringify({ url, step: { stepId: 1 }, timeout: "10s" }));
  await harness.user.workflows.wait({ ...facts, refusalOf: () => undefined, eventId: "paid", body });
  harness.clock.stepWallClock(-86_400_000);
  await harness.advance(9_999);
  assert.equal(harness.user.workflows.waiters("paid").length, 1);
  await harness.advance(1);
  assert.equal(harness.user.workflows.waiters("paid").length, 0);
});

test("deadlines of notified waiters do not accumulate", async () => {
  const harness = await started();
  const { workflows } = harness.messaging.engine;
  const headers = ["workflow-runid", "wfr_1"];
  const facts = { runId: "wfr_1", headers, contentType: undefined, refusalOf: () => undefined };
  for (let stepId = 1; stepId <= 2_000; stepId += 1) {
    const body = Buffer.from(JSON.stringify({ url, step: { stepId }, timeout: "7d" }));
    await harness.user.workflows.wait({ ...facts, eventId: "paid", body });
    await harness.user.workflows.notifyAll("paid", Buffer.from("yes"));
  }
  assert.ok(workflows.deadlineCount <= 1_100, `${workflows.deadlineCount} deadlines`);
});

test("W.wait.repeated: an endpoint that repeats a wait that has ended, also after a crash, takes no event of a later step", async () => {
  const harness = await started();
  const wait = async (stepId: number) => {
    const facts = { runId: "wfr_1", headers: ["workflow-runid", "wfr_1"], contentType: undefined };
    const body = Buffer.from(JSON.stringify({ url, step: { stepId } }));
    await harness.user.workflows.wait({ ...facts, refusalOf: () => undefined, eventId: "paid", body });
    await harness.settle();
  };
  for (const data of ["one", "two", "three"]) {
    await harness.user.workflows.notifyRun("wfr_1", "paid", Buffer.from(data));
  }
  await wait(1);
  await wait(1);
  harness.restart();
  await wait(1);
  await wait(2);

  const list = listOf(harness.calls.at(-1)?.body).slice(1);
  assert.deepEqual(
    list.map((text) => JSON.parse(text) as object),
    [
      { stepId: 1, waitEventId: "paid", out: Buffer.from("one").toString("base64") },
      { stepId: 2, waitEventId: "paid", out: Buffer.from("two").toString("base64") },
    ],
  );
  assert.equal(harness.user.workflows.waiters("paid").length, 0);
});

test("W.limits: a request that exceeds a limit of a run is refused, and nothing of it is stored", async () => {
  const harness = await started({ stepsPerRunMax: 2, runBytesMax: 30 });
  await assert.rejects(publish(harness, "workflow-runid=wfr_1", "x".repeat(26)), { kind: "quota exceeded" });
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await assert.rejects(publish(harness, "workflow-runid=wfr_1", "{}"), {
    kind: "quota exceeded",
    text: "Maximum number of steps of the workflow run wfr_1 exceeded: 2",
  });
  assert.equal(harness.user.workflows.find("wfr_1")?.entries.length, 2);
});

test("W.call.cut: an answer that would exceed the bytes of a run is cut to the rest, with a header", async () => {
  const harness = await started({ runBytesMax: 3_000 });
  harness.destination = ({ url: called }) =>
    called === url ? answered(200, SDK) : answered(200, ["Content-Length", "9000"], "x".repeat(9_000));
  const [outcome] = await harness.user.publish([
    {
      destination: "https://third.test/",
      body: Buffer.from("ask"),
      callerIp: "203.0.113.7",
      options: {
        method: "POST",
        headers: [],
        retriesMax: 0,
        callback: { url, given: [] },
        workflow: { ...NO_PART, runId: "wfr_1", callType: "toCallback" },
      },
    },
  ]);
  assert.equal(outcome?.kind, "url");
  await harness.settle();

  const told = JSON.parse(harness.calls.at(-1)?.body ?? "") as { body: string; header: Record<string, string[]> };
  const kept = Buffer.from(told.body, "base64").length;
  assert.equal(kept > 1_000 && kept < 2_250, true, String(kept));
  assert.deepEqual(told.header, { "Service-Body-Cut": [String(kept)], "Upstash-Body-Cut": [String(kept)] });
  const run = harness.user.workflows.find("wfr_1");
  assert.equal((run?.entryBytes ?? 0) < 3_200, true);
});

test("C.messages.cancel: a step is not cancelled without its run, which would wait permanently", async () => {
  const harness = await started();
  await publish(harness, "workflow-runid=wfr_1; delay=1h", '{"stepId":1}');
  const [message] = harness.user.workflows.find("wfr_1")?.messages ?? [];
  const id = message?.id ?? "";
  await assert.rejects(harness.user.cancel(id), {
    kind: "bad request",
    text: `Invalid value for messageId: the message ${id} belongs to the workflow run wfr_1: cancel the run`,
  });
  await harness.advance(3_600_000);
  assert.deepEqual(listOf(harness.calls.at(-1)?.body), ["begin", '{"stepId":1}']);
});

test("C3.refused: saved events of a run are bounded", async () => {
  const harness = await started({ runBytesMax: 20 });
  await harness.user.workflows.notifyRun("wfr_1", "paid", Buffer.from("x".repeat(10)));
  await assert.rejects(harness.user.workflows.notifyRun("wfr_1", "paid", Buffer.from("x".repeat(10))), {
    kind: "quota exceeded",
  });
});

test("bodies of entries and results are moved out of old segments, and found at their new location", async () => {
  const harness = await started();
  const { bodies } = harness.messaging.engine.state;
  bodies.open({ read: () => Promise.reject(new Error("bodies of this test are in memory")) });
  await publish(harness, "workflow-runid=wfr_1", '{"stepId":1}');
  await harness.settle();
  await publish(harness, "workflow-init=true; workflow-runid=wfr_2", "other");
  await harness.settle();
  bodies.written({ start: 0, end: harness.journal.end, segment: 1, offset: 0 });
  await harness.user.workflows.finish("wfr_2", Buffer.from("result"));

  await moveBodies(harness.messaging.engine, [{ number: 1, bytes: 10_000 }]);

  const state = new MessagingState(defaultLimits);
  for (const [index, frame] of harness.journal.frames.entries()) {
    replayFrame(state, frame, { segment: index + 1, offset: 0 });
  }
  const run = state.findUser("main")?.runs.get("wfr_1");
  const moved = run?.entries.map(({ body }) => body.segment) ?? [];
  const last = harness.journal.frames.length;
  assert.ok(moved.every((segment) => segment <= last));
  assert.deepEqual(
    run?.entries.map(({ body }) => body.length),
    [5, 12],
  );
  assert.deepEqual(
    [...state.bodies.liveBytes.values()].reduce((sum, bytes) => sum + bytes, 0),
    5 + 12 + 6,
  );
});

test("a long answer to the call that reports a failure is in the journal, is moved, and is freed by the next report", async () => {
  const harness = await MessagingHarness.start();
  const { bodies } = harness.messaging.engine.state;
  const { frames } = harness.journal;
  // Each frame is in its own segment.
  bodies.open({
    read: async (segment, offset, length) => frames[segment - 1]?.subarray(offset, offset + length) ?? Buffer.alloc(0),
  });
  let placed = 0;
  const place = (): number => {
    for (; placed < frames.length; placed += 1) {
      bodies.written({ start: placed, end: placed + 1, segment: placed + 1, offset: 0 });
    }
    return placed;
  };
  const long = "y".repeat(5_000);
  harness.destination = ({ url: called }) => answered(500, SDK, called === url ? "no" : long);
  const told = "failure-callback=https://told.test/; failure-callback-retries=0";
  await publish(harness, `workflow-init=true; workflow-runid=wfr_1; retries=0; ${told}`, "begin");
  await harness.settle();
  await harness.settle();
  const run = harness.user.workflows.find("wfr_1");
  const { failureAnswer } = run ?? {};
  const count = place();
  assert.equal(failureAnswer?.length, 5_000);
  assert.equal(failureAnswer.bytes, undefined, "it is not kept in memory");
  const from = failureAnswer.segment;

  await moveBodies(harness.messaging.engine, [{ number: from, bytes: 100_000 }]);
  place();

  assert.equal(failureAnswer.segment > count, true);
  assert.equal((await harness.user.loadBody(failureAnswer))?.toString(), long);
  const state = new MessagingState(defaultLimits);
  for (const [index, frame] of frames.entries()) replayFrame(state, frame, { segment: index + 1, offset: 0 });
  assert.equal(state.findUser("main")?.runs.get("wfr_1")?.failureAnswer?.segment, failureAnswer.segment);

  await harness.user.workflows.repeatFailureCall(run?.deadLetterId ?? "");
  assert.equal(run?.failureAnswer, undefined);
  assert.equal(failureAnswer.isWanted, false);
});

test("runs are forgotten in the order of their end, also if a snapshot has another order", async () => {
  const harness = await started({ runRetentionMs: 120_000 });
  await publish(harness, "workflow-init=true; workflow-runid=wfr_2", "other");
  await harness.settle();
  await harness.user.workflows.finish("wfr_2", Buffer.from("done"));
  await harness.advance(90_000);
  await harness.user.workflows.finish("wfr_1", Buffer.from("done"));

  harness.journal.replace(Array.from(snapshotFrames(harness.messaging.engine.state), (frame) => Buffer.from(frame)));
  harness.restart();
  await harness.advance(100_000);

  assert.equal(harness.user.workflows.find("wfr_2"), undefined);
  assert.equal(harness.user.workflows.find("wfr_1")?.isStarted, false);
});

test("W.retention: an ended run is forgotten after its retention, a failed one not before its dead letter", async () => {
  const harness = await started({ runRetentionMs: 120_000, deadLetterRetentionMs: 600_000 });
  harness.destination = () => answered(500);
  await publish(harness, "workflow-init=true; workflow-runid=wfr_2; retries=0", "bad");
  await harness.settle();
  await harness.user.workflows.finish("wfr_1", Buffer.from("done"));

  await harness.advance(300_000);
  assert.equal(harness.user.workflows.find("wfr_1"), undefined);
  assert.equal(harness.user.workflows.find("wfr_2")?.entries.length, 1);

  await harness.advance(600_000);
  assert.equal(harness.user.workflows.find("wfr_2"), undefined);
  assert.equal(harness.messaging.engine.state.envelopes.size, 0);
  assert.equal(
    harness.user.deadLetters({ attributes: new Map() }, { order: "earliest first", count: 9 }).deadLetters.length,
    0,
  );
});

test("the steps of a run continue when their queue is deleted, also after a restart", async () => {
  for (const how of ["live", "replayed", "from a snapshot"]) {
    const harness = await MessagingHarness.start();
    harness.destination = () => answered(200, SDK);
    await harness.user.putQueue("q", { isPaused: true });
    await publish(harness, "workflow-init=true; workflow-runid=wfr_1; queue-name=q", "begin");
    const other = await publish(harness, "queue-name=q", "plain");
    await publish(harness, "queue-name=q; workflow-init=true; workflow-runid=wfr_2; delay=1h", "later");
    await harness.settle();
    assert.equal(harness.calls.length, 0);

    await harness.user.deleteQueue("q");
    // A new queue of the same name has no messages of the old one.
    await harness.user.putQueue("q", { isPaused: true });
    await harness.settle();
    if (how === "replayed") harness.restart();
    if (how === "from a snapshot") {
      harness.journal.replace(
        Array.from(snapshotFrames(harness.messaging.engine.state), (frame) => Buffer.from(frame)),
      );
      harness.restart();
    }
    await harness.advance(3_600_000);

    assert.deepEqual(
      harness.calls.map(({ body }) => listOf(body)),
      [["begin"], ["later"]],
      how,
    );
    const plainId = other?.kind === "url" ? other.published.messageId : "";
    assert.equal(harness.user.findMessage(plainId), undefined, how);
    assert.equal(harness.user.queue("q")?.lag, 0, how);
  }
});

test("a bulk retry of dead letters skips those of runs, which are resumed or restarted instead", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500);
  await publish(harness, "workflow-init=true; workflow-runid=wfr_1; retries=0", "begin");
  await publish(harness, "retries=0", "plain");
  await harness.settle();
  const all = { attributes: new Map() };

  assert.equal((await harness.user.retryDeadLetters(all, { countMax: 1 }, {})).published.length, 1);
});
