/** A user who moves to another journal: exactly the records that a snapshot of it has, of every kind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness, request } from "../../../test/harness/messaging-harness.ts";
import { FrameReader } from "../../kernel/frame.ts";
import type { MessagingApi } from "../api.ts";
import { movedBodies } from "../bodies/moved-bodies.ts";
import { defaultLimits } from "../limits.ts";
import { readPublishOptions } from "../options/headers.ts";
import { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import { AREA } from "./area-records.ts";
import { MovedUser } from "./moved-user.ts";
import { type JournalLocation, replayFrame } from "./replay.ts";
import { comparedFrames, snapshotFrames } from "./snapshot.ts";
import { type UserKind, userKindOf, userRecords } from "./table.ts";

const HOUR_MS = 3_600_000;
const NAMES = ["main", "other", "third"];

interface Placed {
  readonly frame: Buffer;
  readonly location: JournalLocation | undefined;
}

function inSegments(frames: readonly Buffer[]): readonly Placed[] {
  return frames.map((frame, index) => ({ frame, location: { segment: index + 1, offset: 100 } }));
}

function stateOf(frames: readonly Placed[]): MessagingState {
  const state = new MessagingState(defaultLimits);
  for (const { frame, location } of frames) replayFrame(state, frame, location);
  return state;
}

function moved(frames: readonly Placed[], move: ConstructorParameters<typeof MovedUser>[0]): MessagingState {
  const user = new MovedUser(move);
  for (const { frame, location } of frames) user.replay(frame, location);
  return user.state;
}

/** Without that of the area. */
function ownFrames(state: MessagingState, isKept?: (user: User) => boolean): readonly Buffer[] {
  return Array.from(snapshotFrames(state, isKept), (frame) => Buffer.from(frame)).slice(1);
}

function compared(state: MessagingState): readonly Buffer[] {
  return Array.from(comparedFrames(state), (frame) => Buffer.from(frame));
}

function assertMoves(frames: readonly Placed[]): void {
  const whole = stateOf(frames);
  for (const name of NAMES) {
    const number = whole.findUser(name)?.number ?? 0;
    const isKept = (user: User): boolean => user.name === name;
    const same = moved(frames, { name, number, sequence: 0 });
    assert.deepEqual(ownFrames(same), ownFrames(whole, isKept), name);
    // Its snapshot gives the same, with another number and after more messages.
    const move = { name, number: 99, sequence: 10_000 };
    const first = moved(frames, move);
    const snapshot = Array.from(snapshotFrames(first), (frame) => ({
      ...{ frame: Buffer.from(frame), location: undefined },
    }));
    const second = moved(snapshot, move);
    assert.deepEqual(compared(second), compared(first), name);
    assert.deepEqual([second.userNumberMax, second.sequenceMax], [99, 10_000], name);
    assert.deepEqual(
      [...second.users].map((user) => user.name),
      [name],
    );
  }
}

const url = "https://run.test/";

async function publishInRun(api: MessagingApi, headers: string, body: string): Promise<void> {
  const own = headers.split("; ").flatMap((pair) => pair.split("="));
  const context = { limits: defaultLimits, nowMs: 0, refusalOf: () => undefined };
  const options = readPublishOptions({ own, contentType: undefined, others: () => [] }, context);
  await api.publish([{ destination: url, body: Buffer.from(body), options, callerIp: "::1" }]);
}

/** Each user gets state that each kind of record has made or changed. */
async function filled(): Promise<MessagingHarness> {
  const harness = await MessagingHarness.start({ runRetentionMs: 2 * HOUR_MS });
  for (const name of NAMES.slice(1)) await harness.messaging.createUser(name);
  const { messaging } = harness;
  // Users of the same name that were dropped before leave nothing.
  await messaging.user("third")?.publish([request("https://a.test/", { delayMs: HOUR_MS }, "of the former")]);
  await messaging.dropUser("third");
  await messaging.createUser("third");
  const apis = NAMES.map((name) => messaging.user(name)).filter((api) => api !== undefined);
  const each = async (work: (api: MessagingApi) => Promise<unknown>): Promise<void> => {
    for (const api of apis) await work(api);
    await harness.settle();
  };
  const send =
    (to: string, options: object = {}, body = "hello") =>
    (api: MessagingApi) =>
      Promise.resolve(api.publish([request(to, options, body)]));
  const wait = (eventId: string, more: object) => (api: MessagingApi) =>
    api.workflows.wait({
      ...{ eventId, runId: "wfr_2", headers: [], contentType: undefined, refusalOf: () => undefined },
      body: Buffer.from(JSON.stringify({ url, ...more })),
    });
  harness.destination = ({ url: to, body }) => {
    if (to.includes("later")) return "later";
    const isOk = !to.includes("broken") && !body.includes("YmFk");
    return answered(
      isOk ? 200 : 500,
      ["upstash-workflow-sdk-version", "1"],
      to.includes("told") ? "y".repeat(5_000) : "",
    );
  };
  // What is over before the end, and what is forgotten.
  await each(send("https://a.test/", { flowControl: { key: "old", parallelism: 1 } }));
  await each((api) => publishInRun(api, "workflow-init=true; workflow-runid=wfr_0", "begin"));
  await each((api) => api.workflows.finish("wfr_0", Buffer.from("done")));
  await harness.advance(25 * HOUR_MS);
  // Resources.
  for (const name of ["q", "gone"]) await each((api) => api.putQueue(name, { parallelism: 1 }));
  await each(send("https://later.test/", { queueName: "gone" }));
  await each((api) => api.deleteQueue("gone"));
  for (const id of ["scd_1", "scd_2"])
    await each((api) =>
      api.putSchedule({
        ...{ id, cron: "0 0 1 1 *", destination: "https://a.test/", body: Buffer.from("tick"), callerIp: "::1" },
        options: { method: "POST", headers: [], retriesMax: 0 },
      }),
    );
  await each((api) => api.pauseSchedule("scd_1", true));
  await each((api) => api.deleteSchedule("scd_2"));
  for (const name of ["g", "h"]) await each((api) => api.addEndpoints(name, [{ url: "https://a.test/" }]));
  await each((api) => api.deleteGroup("h"));
  await each((api) => api.pauseFlowKey("paused", true));
  await each((api) => api.rotateSigningKeys());
  // Messages.
  await each(send("https://a.test/", { delayMs: HOUR_MS * 9, deduplicationId: "once" }));
  await each(send("https://later.test/"));
  await each(async (api) => {
    const [waiting] = await api.publish([request("https://later.test/", { delayMs: HOUR_MS })]);
    assert.ok(waiting?.kind === "url" && (await api.retryNow(waiting.published.messageId)));
  });
  await each(send("https://later.test/", { queueName: "q" }));
  await each(send("https://a.test/", { queueName: "q" }));
  await each(send("https://a.test/", { flowControl: { key: "paused", rate: 2 } }));
  await each(send("https://broken.test/", { retriesMax: 1 }));
  for (const body of ["buried", "buried too"]) await each(send("https://broken.test/", { retriesMax: 0 }, body));
  await each((api) => {
    const page = { count: 1, order: "earliest first" } as const;
    const [first] = api.deadLetters({ attributes: new Map() }, page).deadLetters;
    const ids = first === undefined ? [] : [`${first.id.ms}-${first.id.number}`];
    return api.deleteDeadLetters({ attributes: new Map(), ids }, {});
  });
  await each((api) => api.cancelMatching({ attributes: new Map([["url", ["https://later.test/"]]]) }, 1));
  await each(send("https://cancelled.test/", { delayMs: HOUR_MS }));
  await each((api) => api.cancelMatching({ attributes: new Map([["url", ["https://cancelled.test/"]]]) }));
  // Runs.
  await each((api) =>
    publishInRun(api, "workflow-init=true; workflow-unknown-sdk=true; workflow-runid=wfr_1", "first"),
  );
  await each((api) =>
    publishInRun(api, "workflow-init=true; workflow-trigger-by-sdk=true; workflow-runid=wfr_1", "second"),
  );
  await each((api) => publishInRun(api, "workflow-init=true; workflow-runid=wfr_2", "begin"));
  for (const [saved, data] of [
    ["early", "1"],
    ["kept", "2"],
  ] as const)
    await each((api) => api.workflows.notifyRun("wfr_2", saved, Buffer.from(data)));
  await each(wait("early", { step: { stepId: 1 } }));
  await each(wait("late", { step: { stepId: 2 }, timeout: "60s", timeoutBody: "own" }));
  await each(wait("never", { step: { stepId: 3 } }));
  await harness.advance(60_000);
  const told = "failure-callback=https://told-broken.test/; failure-callback-retries=0";
  for (const runId of ["wfr_3", "wfr_4"])
    await each((api) => publishInRun(api, `workflow-init=true; workflow-runid=${runId}; retries=0; ${told}`, "bad"));
  await each((api) => publishInRun(api, "workflow-init=true; workflow-runid=wfr_5", "begin"));
  await each((api) => api.workflows.finish("wfr_5", Buffer.from("result")));
  return harness;
}

test("the records of a user are those of its snapshot, also when they are read again from the snapshot of its move", async () => {
  const harness = await filled();
  const frames = inSegments(harness.journal.frames);
  assertMoves(frames);
  // A journal that begins with a snapshot, whose bodies are only there, and goes on.
  const middle = Math.floor(harness.journal.frames.length / 2);
  const until = stateOf(frames.slice(0, middle).map(({ frame }) => ({ frame, location: undefined })));
  const snapshot = Array.from(snapshotFrames(until), (frame) => ({ frame: Buffer.from(frame), location: undefined }));
  assertMoves([...snapshot, ...frames.slice(middle)]);
});

test("every kind of record of a user comes along", async () => {
  const { journal } = await filled();
  const frames = inSegments(journal.frames);
  const user = moved(frames, { name: "main", number: 99, sequence: 0 });
  const written = [...frames.map(({ frame }) => frame), ...ownFrames(user)];
  for (const body of movedBodies(user, () => true))
    written.push(Buffer.from(body.frame(Buffer.alloc(body.length)).frame));
  const kinds = new Set<UserKind>();
  for (const frame of written) {
    const reader = new FrameReader(frame);
    if (reader.number() === AREA) continue;
    while (!reader.isAtEnd) {
      const kind = userKindOf(reader.code());
      userRecords[kind].read(reader);
      kinds.add(kind);
    }
  }
  // A kind that is missing here needs a line in `filled`, whose records the test above moves.
  assert.deepEqual(
    Object.keys(userRecords).filter((kind) => !kinds.has(kind as UserKind)),
    [],
  );
});

test("a journal without the user has nothing of it, and its numbers are not used again", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/");
  await harness.messaging.dropUser("main");
  const frames = inSegments(harness.journal.frames);
  const gone = new MovedUser({ name: "main", number: 9, sequence: 4 });
  for (const { frame, location } of frames) gone.replay(frame, location);
  assert.deepEqual([gone.user, [...gone.state.users], gone.state.messages.size], [undefined, [], 0]);
  assert.equal(moved(frames, { name: "nobody", number: 9, sequence: 4 }).sequenceMax, 4);
});

test("numbers of messages that are finished are not given again, also when only a snapshot knows them", async () => {
  const harness = await MessagingHarness.start();
  for (const body of ["first", "second", "third"]) await harness.publish("https://a.test/", {}, body);
  await harness.settle();
  const state = stateOf(inSegments(harness.journal.frames));
  assert.deepEqual([state.messages.size, state.sequenceMax], [0, 3]);
  const snapshot = Array.from(snapshotFrames(state), (frame) => ({ frame: Buffer.from(frame), location: undefined }));
  assert.equal(moved(snapshot, { name: "main", number: 9, sequence: 1 }).sequenceMax, 3);
});
