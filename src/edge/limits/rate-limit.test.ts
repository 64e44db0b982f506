import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { RateLimiter } from "./rate-limit.ts";

const alpha = { tenant: "main", access: "standard" } as const;
const beta = { tenant: "main", access: "standard" } as const;

test("a token may use its burst at once and then its rate", () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(clock, { perSecond: 10, burst: 3 });
  for (let i = 0; i < 3; i += 1) assert.equal(limiter.take(alpha), undefined);
  assert.equal(limiter.take(alpha)?.kind, "too many requests");

  clock.advance(99);
  assert.notEqual(limiter.take(alpha), undefined);
  clock.advance(1);
  assert.equal(limiter.take(alpha), undefined);
  assert.notEqual(limiter.take(alpha), undefined);
});

test("a long pause allows no more than the burst", () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(clock, { perSecond: 10, burst: 2 });
  assert.equal(limiter.take(alpha), undefined);

  clock.advance(3_600_000);

  assert.equal(limiter.take(alpha), undefined);
  assert.equal(limiter.take(alpha), undefined);
  assert.notEqual(limiter.take(alpha), undefined);
});

test("each token has a bucket of its own", () => {
  const limiter = new RateLimiter(new VirtualClock(), { perSecond: 1, burst: 1 });
  assert.equal(limiter.take(alpha), undefined);
  assert.equal(limiter.take(beta), undefined);
});

test("the refusal has Retry-After in whole seconds", () => {
  const limiter = new RateLimiter(new VirtualClock(), { perSecond: 0.2, burst: 1 });
  limiter.take(alpha);

  const failure = limiter.take(alpha);

  assert.equal(failure?.text, "ERR max request rate exceeded. Limit: 0.2 per second");
  assert.deepEqual(failure?.headers, ["Retry-After", "5"]);
});
