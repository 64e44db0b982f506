/** The real program on a real object store: a server copies there, is killed, and comes back by a restore and by a follower. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { runHere } from "../harness/command-runner.ts";
import type { StoreServer } from "../harness/object-stores/server-process.ts";
import { anyPorts, oneThread, type RunningProgram, spawnProgram, startProgram } from "../program/program-process.ts";
import {
  type AreaTokens,
  KEY,
  placesOf,
  send,
  startCopied,
  tokensOf,
  untilComplete,
} from "../program/replication/copied-program.ts";

/** `bucket`: one that exists, with the parameters that the store needs. */
export async function loseAServer(
  context: TestContext,
  server: StoreServer,
  { bucket, parameters = "" }: { readonly bucket: string; readonly parameters?: string },
): Promise<void> {
  const { data, restored } = placesOf(context);
  const address = `s3://${bucket}/copied-server${server.query}${parameters}`;
  const env = { LARDER_REPLICATE_KEY: KEY, ...server.credentials };
  // Commands that run in this process take the credentials from its environment.
  Object.assign(process.env, server.credentials);
  context.after(() => {
    for (const name of Object.keys(server.credentials)) delete process.env[name];
  });
  await using first = await startCopied(data, address, { args: oneThread, env });
  const tokens = tokensOf(first);
  await writeAll(first, tokens, "before");
  await untilComplete(first);
  const words = ["follow", address, `${restored}-followed`, "--interval", "1s", "--log-format", "json", ...oneThread];
  await using follower = spawnProgram(words, { env: { ...anyPorts, ...env } });
  await follower.untilPrinted(/"event":"the directory has caught up with the copy","generation":1/);
  await writeAll(first, tokens, "after");
  await untilComplete(first);
  await first.kill();

  const verified = await runHere(["verify", address], env);
  assert.equal(verified.code, 0, verified.log);
  const restore = await runHere(["restore", address, restored], env);
  assert.equal(restore.code, 0, restore.log);
  await using second = await startProgram("serve", { args: ["--data-dir", restored, ...oneThread] });
  await assertHasAll(second, tokens);

  const promotion = await runHere(["promote", `${restored}-followed`], env);
  assert.equal(promotion.code, 0, promotion.log);
  await assertHasAll(await follower.untilRunning(), tokens);
}

async function writeAll(server: RunningProgram, tokens: AreaTokens, name: string): Promise<void> {
  await send(server, tokens, { area: "store", path: `/set/${name}/1` });
  await send(server, tokens, { area: "vector", path: "/upsert", body: { id: name, vector: [1, 1] } });
  const schedule = { "upstash-cron": "0 0 1 1 *", "upstash-schedule-id": name };
  await send(server, tokens, {
    ...{ area: "messaging", path: "/v2/schedules/https://example.com", body: {} },
    headers: schedule,
  });
}

async function assertHasAll(server: RunningProgram, tokens: AreaTokens): Promise<void> {
  assert.deepEqual(await send(server, tokens, { area: "store", path: "/mget/before/after" }), { result: ["1", "1"] });
  const info = (await send(server, tokens, { area: "vector", path: "/info" })) as { result: { vectorCount: number } };
  assert.equal(info.result.vectorCount, 2);
  const schedules = (await send(server, tokens, { area: "messaging", path: "/v2/schedules" })) as {
    scheduleId: string;
  }[];
  assert.deepEqual(schedules.map(({ scheduleId }) => scheduleId).sort(), ["after", "before"]);
}
