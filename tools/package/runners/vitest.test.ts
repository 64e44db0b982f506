/** The package in Vitest, and its types there. Copied into an empty folder, compiled and run there. */
import { Redis } from "@upstash/redis";
import { fixtures } from "larderd/vitest";
import { test as base, expect } from "vitest";

const test = base.extend(fixtures);

test("a session ends after an hour", async ({ frozenLarder: { clock, store } }) => {
  const redis = new Redis({ url: store.url, token: store.token });
  await redis.set("session", "x", { ex: 3_600 });
  await clock.advance(3_600_001);
  expect(await redis.get("session")).toBe(null);
});

test("the database is empty", async ({ larder: { store } }) => {
  const token: string = store.token;
  expect(await new Redis({ url: store.url, token }).dbsize()).toBe(0);
});
