/** The image of a user is the same on the shard that it leaves and on the one that it comes to. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { answered, MessagingHarness, request } from "../../../../../test/harness/messaging-harness.ts";
import { type StagedArea, StagedAreas } from "../../../../../test/harness/staged-area.ts";
import { historyEventsOf, loggedMessage } from "../../../../messaging/history.ts";
import { messageStateName } from "../../../../messaging/state/states.ts";
import { areaDirectory } from "../../../../persistence/data-directory.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { FrameFollower } from "../../../../persistence/journal/frame-follower.ts";
import { readArea } from "../../../../persistence/recovery.ts";
import { inspectStoredArea } from "../../../areas/inspect-area.ts";
import { readMovedLog } from "./moved-log.ts";
import { readImage, readOutline } from "./read-image.ts";
import type { TenantImage } from "./tenant-image.ts";

/** Longer than what an engine keeps in memory. */
const LARGE = "large".repeat(30_000);

async function filled(): Promise<MessagingHarness> {
  const harness = await MessagingHarness.start();
  await harness.messaging.createUser("other");
  harness.destination = ({ url }) => (url.includes("later") ? "later" : answered(500, [], "of the answer"));
  const users = ["main", "other"].map((name) => harness.messaging.user(name));
  for (const [index, user] of users.entries()) {
    await user?.publish([request("https://broken.test/", { retriesMax: 0 }, `of the dead letter ${index}`)]);
    for (const body of [`small ${index}`, LARGE, ""])
      await user?.publish([request("https://a.test/", { delayMs: 60_000 }, body)]);
    await user?.publish([request("https://later.test/", { queueName: "q" }, `called ${index}`)]);
    await user?.rotateSigningKeys();
  }
  await harness.settle();
  return harness;
}

async function imageOf(staged: StagedArea, number: number, lastMessage = 0): Promise<TenantImage> {
  const image = await readImage(staged, { name: "main", number, lastMessage });
  assert.ok(image !== undefined);
  return image;
}

/** What the log of messages gets of a user from the segments of a shard: messages and states, in their order. */
async function loggedOf({ directory: root }: StagedArea, user: number): Promise<readonly string[]> {
  const directory = areaDirectory(root, "messaging");
  const { ended, open, position } = await readArea({ disk: fileDisk, directory, area: "messaging", apply() {} });
  const last = open ?? ended.at(-1);
  const logged: string[] = [];
  const follower = new FrameFollower({
    ...{ disk: fileDisk, directory, area: "messaging", position: 0 },
    frame(frame) {
      if (frame[0] !== user) return;
      const { messages, entries } = historyEventsOf(frame);
      for (const { user: of, message, detail } of messages)
        logged.push(`${of} ${message} ${loggedMessage(detail).body.length} bytes`);
      for (const { message, state } of entries) logged.push(`${message} ${messageStateName(state)}`);
    },
    skipped() {},
  });
  await follower.follow({ segment: last?.number ?? 0, offset: last?.bytes ?? 0, position });
  await follower.close();
  return logged;
}

/** A shard on which other users have lived before. */
async function formerShard(areas: StagedAreas): Promise<StagedArea> {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", {}, "of somebody else");
  await harness.messaging.dropUser("main");
  await harness.messaging.createUser("next");
  await harness.messaging.dropUser("next");
  return areas.write("messaging", [], harness.journal.frames);
}

async function copied(areas: StagedAreas, image: TenantImage, to: StagedArea): Promise<StagedArea> {
  const { staged, files } = areas.begin("messaging");
  await image.write(files, await readOutline(to));
  assert.equal((await inspectStoredArea(staged.directory, "messaging", () => {})).fault, undefined);
  return staged;
}

function filesOf({ directory }: StagedArea): readonly string[] {
  return readdirSync(areaDirectory(directory, "messaging")).toSorted();
}

async function sourceOf(context: TestContext) {
  const areas = new StagedAreas(context);
  const { journal } = await filled();
  return { areas, source: await areas.write("messaging", undefined, journal.frames) };
}

test("a user is the same on its new shard: numbers of files, users and messages go on there", async (context) => {
  const { areas, source } = await sourceOf(context);
  const former = await formerShard(areas);
  const { position, ...outline } = await readOutline(former);
  assert.deepEqual(outline, { names: [], nextFile: 3, nextTenant: 3, lastMessage: 1 });
  const image = await imageOf(source, outline.nextTenant, outline.lastMessage);
  assert.equal(image.contents, "4 messages, 1 queue, 1 dead letter");
  const target = await copied(areas, image, former);
  // Its log, its bodies, and nothing.
  const names = ["0000000003.journal", "0000000004.journal", "0000000005.journal", "0000000005.snapshot"];
  assert.deepEqual(filesOf(target), names);
  const found = await readOutline(target);
  // Six frames for its log; five of its bodies have bytes, and each is a frame.
  assert.deepEqual(found, { names: ["main"], position: position + 11, nextFile: 6, nextTenant: 4, lastMessage: 5 });
  // Message 1 of another user may be in the log there.
  assert.equal(image.log, "4 messages since 2026-01-01T00:00:00.000Z");
  assert.deepEqual(await loggedOf(target, 3), [
    ...["3 2 7 bytes", "2 CREATED", "3 3 150000 bytes", "3 CREATED", "3 4 0 bytes", "4 CREATED"],
    ...["3 5 8 bytes", "5 CREATED", "5 ACTIVE", "1 ERROR", "1 FAILED"],
  ]);
  const copy = await imageOf(target, outline.nextTenant, outline.lastMessage);
  assert.deepEqual(
    [copy.contents, copy.bytes, copy.checksum, copy.log],
    [image.contents, image.bytes, image.checksum, image.log],
  );
  // It moves on, from a snapshot with the places of its bodies.
  const again = await imageOf(target, 20);
  const third = await copied(areas, again, await areas.write("messaging", undefined, []));
  assert.equal((await imageOf(third, 20)).checksum, again.checksum);
  assert.deepEqual(
    await loggedOf(third, 20),
    (await loggedOf(target, 3)).map((line) => line.replace(/^3 (?=\d)/, "20 ")),
  );
  assert.equal(await readImage(third, { name: "other", number: 20, lastMessage: 0 }), undefined);
});

test("the oldest frames of a log that is too long stay behind", async (context) => {
  const { source } = await sourceOf(context);
  const directory = areaDirectory(source.directory, "messaging");
  const read = await readArea({ disk: fileDisk, directory, area: "messaging", apply() {} });
  const log = { directory, area: "messaging", read, number: 1, lastMessage: 0 };
  assert.equal((await readMovedLog(log))?.messages, 5);
  // The long body is that of message 3.
  assert.equal((await readMovedLog({ ...log, bytesMax: 100_000 }))?.messages, 2);
  assert.equal(await readMovedLog({ ...log, lastMessage: 5 }), undefined);
});

test("one byte of a body or of a record less, and the checksum differs", async (context) => {
  const { areas, source } = await sourceOf(context);
  const image = await imageOf(source, 3);
  const target = await copied(areas, image, await areas.write("messaging", undefined, []));
  const copyPath = join(areaDirectory(target.directory, "messaging"), "0000000003.journal");
  const copy = readFileSync(copyPath);
  copy[copy.indexOf("largelarge")] = 0;
  writeFileSync(copyPath, copy);
  const damaged = await imageOf(target, 3);
  assert.deepEqual([damaged.contents, damaged.bytes], [image.contents, image.bytes]);
  assert.notEqual(damaged.checksum, image.checksum);
  // What is damaged stays so, and moves on.
  const next = await copied(areas, damaged, await areas.write("messaging", undefined, []));
  assert.equal((await imageOf(next, 3)).checksum, damaged.checksum);

  const harness = await filled();
  await harness.user.pauseFlowKey("key", true);
  const changed = await areas.write("messaging", undefined, harness.journal.frames);
  assert.notEqual((await imageOf(changed, 3)).checksum, image.checksum);
});
