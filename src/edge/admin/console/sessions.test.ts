import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { ADDRESSES_MAX, LoginAttempts } from "./attempts.ts";
import { ConsoleSessions, SESSIONS_MAX, sessionCookie } from "./sessions.ts";

const HOUR_MS = 3_600_000;

test("S-20: a session ends after 12 hours without a request, and its streams with their next event", () => {
  const clock = new VirtualClock();
  const sessions = new ConsoleSessions(clock);
  const { id, session } = sessions.open();
  let ended = 0;
  session.onEnd(() => {
    ended += 1;
  });
  const cookie = `theme=dark; larder_console=${id}`;
  clock.advance(11 * HOUR_MS);
  assert.equal(sessions.find(cookie), session);
  clock.advance(11 * HOUR_MS);
  assert.equal(sessions.isAlive(session), true);
  clock.advance(HOUR_MS);
  assert.deepEqual([ended, sessions.isAlive(session), ended], [0, false, 1]);
  assert.equal(sessions.find(cookie), undefined);
});

test("a logout ends one session and its streams, a removed admin token all", () => {
  const sessions = new ConsoleSessions(new VirtualClock());
  const ends: string[] = [];
  const [first, second] = ["first", "second"].map((name) => {
    const { id, session } = sessions.open();
    session.onEnd(() => ends.push(name));
    return { cookie: `larder_console=${id}`, session };
  });
  assert.ok(first !== undefined && second !== undefined);
  assert.notEqual(first.session.csrf, second.session.csrf);
  sessions.end(first.session);
  assert.deepEqual(ends, ["first"]);
  assert.deepEqual([sessions.find(first.cookie), sessions.find(second.cookie)], [undefined, second.session]);
  sessions.endAll();
  assert.deepEqual(ends, ["first", "second"]);
  assert.equal(sessions.count, 0);
});

test("the least recently used session ends when there are too many", () => {
  const sessions = new ConsoleSessions(new VirtualClock());
  const cookies = Array.from({ length: SESSIONS_MAX }, () => `larder_console=${sessions.open().id}`);
  assert.ok(sessions.find(cookies[0]) !== undefined);
  sessions.open();
  assert.equal(sessions.count, SESSIONS_MAX);
  assert.deepEqual([sessions.find(cookies[0]) !== undefined, sessions.find(cookies[1])], [true, undefined]);
});

test("a cookie is for the console only, and scripts cannot read it", () => {
  assert.equal(
    sessionCookie("x", { isSecure: false }),
    "larder_console=x; Path=/console; HttpOnly; SameSite=Strict; Max-Age=43200",
  );
  assert.equal(
    sessionCookie("", { isSecure: true }),
    "larder_console=; Path=/console; HttpOnly; SameSite=Strict; Secure; Max-Age=0",
  );
});

test("unknown and malformed cookies find no session", () => {
  const sessions = new ConsoleSessions(new VirtualClock());
  const { id } = sessions.open();
  const cookies: readonly (string | undefined)[] = [
    undefined,
    "",
    "larder_console",
    "larder_console=",
    `larder_console=${id}x`,
    `other=${id}`,
    `x; =${id}`,
  ];
  for (const cookie of cookies) assert.equal(sessions.find(cookie), undefined, `${cookie}`);
});

test("S-20: an address is refused for a minute after five wrong tokens, and an IPv6 network counts as one", () => {
  const clock = new VirtualClock();
  const attempts = new LoginAttempts(clock);
  for (const last of ["1", "2", "3", "4"]) attempts.noteWrong(`2001:db8::${last}`);
  assert.equal(attempts.waitMs("2001:db8::9"), 0);
  clock.advance(20_000);
  attempts.noteWrong("2001:db8::5");
  assert.deepEqual([attempts.waitMs("2001:db8::9"), attempts.waitMs("2001:db9::9")], [40_000, 0]);
  clock.advance(40_000);
  assert.equal(attempts.waitMs("2001:db8::9"), 0);
});

test("the table of wrong log-ins is bounded", () => {
  const attempts = new LoginAttempts(new VirtualClock());
  for (let index = 0; index < ADDRESSES_MAX + 50; index += 1) attempts.noteWrong(`10.0.${index >> 8}.${index & 255}`);
  assert.equal(attempts.addressCount, ADDRESSES_MAX);
});
