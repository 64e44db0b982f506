/** Users that leave for a journal of their own take their bodies along. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness } from "../../../test/harness/messaging-harness.ts";
import { FrameReader } from "../../kernel/frame.ts";
import { defaultLimits } from "../limits.ts";
import { readPublishOptions } from "../options/headers.ts";
import { replayFrame } from "../records/replay.ts";
import { snapshotFrames } from "../records/snapshot.ts";
import { userKindOf, userRecords } from "../records/table.ts";
import { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import { type MovedBody, movedBodies } from "./moved-bodies.ts";

const isMain = ({ name }: User): boolean => name === "main";

/** The state after a restart: each frame is in segment 1. */
function replayed(harness: MessagingHarness): MessagingState {
  const state = new MessagingState(defaultLimits);
  let offset = 100;
  for (const frame of harness.journal.frames) {
    replayFrame(state, frame, { segment: 1, offset });
    offset += frame.length;
  }
  return state;
}

test("each body is moved once, in a frame that names its owner, and a snapshot has its new place", async () => {
  const harness = await MessagingHarness.start();
  await harness.messaging.createUser("other");
  harness.destination = () => answered(500, [], "the response");
  await harness.publish("https://a.test/", { retriesMax: 0 }, "of a dead letter");
  await harness.settle();
  await harness.publish("https://a.test/", { delayMs: 60_000 }, "of a message");
  await harness.publish("https://a.test/", { delayMs: 60_000 }, "");
  const state = replayed(harness);
  const journal = Buffer.concat([Buffer.alloc(100), ...harness.journal.frames]);

  const moved: (readonly [owner: unknown, bytes: string])[] = [];
  const move = (body: MovedBody): void => {
    const bytes = journal.subarray(body.offset, body.offset + body.length);
    const { frame, offset } = body.frame(bytes);
    assert.equal(Buffer.from(frame).toString("utf8", offset), bytes.toString());
    const reader = new FrameReader(Buffer.from(frame));
    assert.equal(reader.number(), state.findUser("main")?.number);
    assert.equal(userKindOf(reader.code()), "bodyMoved");
    const { owner } = userRecords.bodyMoved.read(reader);
    moved.push([owner.kind, bytes.toString()]);
    body.moved(7, 1_000 * moved.length);
  };
  for (const body of movedBodies(state, isMain)) move(body);
  assert.deepEqual(moved, [
    ["message", "of a message"],
    ["deadLetter", "of a dead letter"],
    ["response", "the response"],
  ]);
  assert.deepEqual([...movedBodies(state, ({ name }) => name === "other")], []);

  const restored = new MessagingState(defaultLimits);
  for (const frame of snapshotFrames(state, isMain)) replayFrame(restored, Buffer.from(frame), undefined);
  assert.deepEqual(
    Array.from(restored.users, ({ name }) => name),
    ["main"],
  );
  assert.equal(restored.sequenceMax, state.sequenceMax);
  const [message] = restored.messages;
  assert.deepEqual([message?.body.segment, message?.body.offset], [7, 1_000]);
  const [letter] = restored.findUser("main")?.deadLetters.values() ?? [];
  assert.deepEqual([letter?.body.offset, letter?.responseBody.offset], [2_000, 3_000]);

  const others = new MessagingState(defaultLimits);
  for (const frame of snapshotFrames(state, (user) => !isMain(user)))
    replayFrame(others, Buffer.from(frame), undefined);
  assert.deepEqual([Array.from(others.users, ({ name }) => name), others.messages.size], [["other"], 0]);
});

test("the body of an entry, which its message shares, is moved once", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  const own = ["workflow-init", "true", "workflow-runid", "wfr_1"];
  const context = { limits: defaultLimits, nowMs: harness.clock.nowMs(), refusalOf: () => undefined };
  const options = readPublishOptions({ own, contentType: undefined, others: () => [] }, context);
  const begin = { destination: "https://a.test/", body: Buffer.from("begin"), options, callerIp: "203.0.113.7" };
  await harness.user.publish([begin]);
  await harness.settle();
  const lengths = Array.from(movedBodies(replayed(harness), isMain), ({ length }) => length);
  assert.deepEqual(lengths, [5]);
});
