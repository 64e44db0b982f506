import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  append,
  type CopiedServer,
  copiedServer,
  DATA,
  dataDisk,
  turns,
} from "../../../test/harness/copy-fixture.ts";
import { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { type Log, silentLog } from "../../kernel/log.ts";
import { type ObjectStore, ObjectStoreFailure } from "../objects/object-store.ts";
import { FollowedCopy } from "./followed-copy.ts";
import { Follower } from "./follower.ts";

interface Followed {
  readonly follower: Follower;
  readonly copy: FollowedCopy;
  readonly logged: readonly string[];
  /** Times of lists, in seconds after the start. */
  readonly listedAtS: readonly number[];
  readonly trouble: { kind: "none" | "away" | "silent" };
}

const INTERVAL_MS = 10_000;

/** A follower of a server, with a store that can be away or say nothing. */
async function followed({ store, clock }: CopiedServer): Promise<Followed> {
  const disk = new SimulatedDisk({ seed: 3 });
  await disk.mkdir(DATA);
  await disk.syncDirectory("/");
  const logged: string[] = [];
  const note = (event: string, fields?: { readonly reason?: unknown }): void =>
    void logged.push(fields?.reason === undefined ? event : `${event}: ${String(fields.reason)}`);
  const log: Log = { ...silentLog, info: note, warn: note, error: note };
  const trouble: Followed["trouble"] = { kind: "none" };
  const listedAtS: number[] = [];
  const startMs = clock.monotonicMs();
  const client = store.client();
  const troubled: ObjectStore = {
    ...client,
    list(prefix, after) {
      if (prefix.startsWith("owners/")) listedAtS.push(Math.round((clock.monotonicMs() - startMs) / 1_000));
      if (trouble.kind === "silent") return new Promise(() => {});
      if (trouble.kind === "away") return Promise.reject(new ObjectStoreFailure("unavailable", "the store is away"));
      return client.list(prefix, after);
    },
  };
  const copy = await FollowedCopy.open({
    ...{ disk, directory: DATA, address: "s3://bucket/copy", clock, areas: [AREA], historyFile: "history.sqlite" },
  });
  const follower = new Follower({ copy, store: troubled, clock, log, intervalMs: INTERVAL_MS });
  return { follower, copy, logged, listedAtS, trouble };
}

const CAUGHT_UP = "the directory has caught up with the copy";

test("a store that is away is asked again with growing pauses, told once, and followed again", async () => {
  const server = await copiedServer(await dataDisk());
  const { follower, copy, logged, listedAtS, trouble } = await followed(server);
  trouble.kind = "away";
  follower.start();
  await turns();
  await server.clock.advanceAsync(200_000, turns);
  assert.deepEqual(listedAtS, [0, 10, 30, 70, 130, 190]);
  assert.deepEqual(logged, ["cannot follow the copy, and tries again: the store is away"]);
  assert.equal(copy.record.problem, "the store is away");
  trouble.kind = "none";
  await server.clock.advanceAsync(60_000, turns);
  await turns();
  assert.deepEqual(logged.slice(1), [CAUGHT_UP]);
  assert.equal(copy.record.problem, "");
  await follower.close();
});

test("a last reading that takes too long promotes nothing, and following goes on", async () => {
  const server = await copiedServer(await dataDisk());
  const { follower, copy, trouble } = await followed(server);
  assert.equal(await follower.attempt(), undefined);
  const before = copy.record;
  trouble.kind = "silent";
  const finished = follower.finish(5_000);
  const refused = assert.rejects(finished, { name: "LastFetchFailed", message: "the time was too short" });
  await turns();
  await server.clock.advanceAsync(5_000, turns);
  await refused;
  assert.deepEqual(copy.record, before);
  trouble.kind = "none";
  await append(server, "a");
  await server.clock.advanceAsync(1_000, turns);
  follower.start();
  await turns();
  assert.ok((copy.record.areas[0]?.offset ?? 0) > (before.areas[0]?.offset ?? 0));
  await follower.close();
});

test("the last reading has what was copied until then, and names what the store says if it fails", async () => {
  const server = await copiedServer(await dataDisk());
  const { follower, copy, trouble } = await followed(server);
  await follower.attempt();
  await append(server, "a");
  await server.clock.advanceAsync(1_000, turns);
  trouble.kind = "away";
  const refused = assert.rejects(follower.finish(3_000), { name: "LastFetchFailed", message: "the store is away" });
  await turns();
  await server.clock.advanceAsync(3_000, turns);
  await refused;
  trouble.kind = "none";
  await follower.finish(3_000);
  assert.equal(copy.record.areas[0]?.offset, server.area.journal.syncedLocation.offset);
});

test("closing ends an attempt that waits for a store that never answers, and the one after it", async () => {
  const server = await copiedServer(await dataDisk());
  const { follower, trouble } = await followed(server);
  trouble.kind = "silent";
  const first = follower.attempt();
  follower.start();
  await turns();
  await follower.close();
  assert.equal(((await first) as Error).name, "AttemptEnded");
  trouble.kind = "none";
  assert.equal(await follower.attempt(), undefined);
});

test("a copy that has nothing new for a quarter of an hour is told once, and when it has something again", async () => {
  const server = await copiedServer(await dataDisk());
  const { follower, logged } = await followed(server);
  follower.start();
  await turns();
  const { copier } = server;
  await copier.close({ withinMs: 1 });
  await server.clock.advanceAsync(20 * 60_000, turns);
  const again = await copiedServer(server.disk.restarted({ seed: 9 }), { model: server.store, clock: server.clock });
  await again.clock.advanceAsync(60_000, turns);
  await turns();
  assert.deepEqual(logged, [
    CAUGHT_UP,
    "the copy has had nothing new for some time: its server is stopped, or does not copy",
    CAUGHT_UP,
    "the copy has something new again",
  ]);
  await follower.close();
});

test("following an idle area makes two lists every ten seconds, and a few requests more for each of twelve plans an hour", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await server.clock.advanceAsync(10 * 60_000, turns);
  const { follower } = await followed(server);
  follower.start();
  await turns();
  await server.copier.close({ withinMs: 1 });
  const before = { ...server.store.calls };
  await server.clock.advanceAsync(60 * 60_000, turns);
  const { list, get } = server.store.calls;
  assert.deepEqual([list - before.list, get - before.get], [744, 36]);
  await follower.close();
});
