/**
 * Sessions with peers that only record, for tests of the protocol over TCP:
 *
 *     const { connect } = startSessions();
 *     const one = connect();
 *     one.expect([
 *       ["MULTI", ok],
 *       ["GET k", simple("QUEUED")],
 *       ["EXEC", [null]],
 *     ]);
 *
 * Replies after a wait, and pushes, are in `heard` after the test has awaited `settled`.
 */
import assert from "node:assert/strict";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { type Journal, NullJournal } from "../../src/kernel/journal.ts";
import type { MemoryGuard } from "../../src/kernel/memory-guard.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { defaultUser, readOnlyUser } from "../../src/store/acl/built-in-users.ts";
import type { ProcessFigures, SnapshotFacts } from "../../src/store/command-host.ts";
import type { RedisCompat } from "../../src/store/commands/redis-compat.ts";
import { CommandError } from "../../src/store/errors.ts";
import type { Push } from "../../src/store/observe/pushes.ts";
import { errorReply, findError, type Reply } from "../../src/store/reply/reply.ts";
import type { LoggedIn, SessionLogin, SessionPeer } from "../../src/store/session/peer.ts";
import { Session } from "../../src/store/session/session.ts";
import { Store } from "../../src/store/store.ts";
import { luaOptions } from "./lua.ts";
import { plainReply, splitLine } from "./store-harness.ts";

export type Heard = Reply | Push;

/** Pushes come from other commands; confirmations of SUBSCRIBE are replies. */
export function isPushed(one: Heard): one is Push {
  return typeof one === "object" && one !== null && "kind" in one && PUSHES.has(one.kind);
}

const PUSHES: ReadonlySet<string> = new Set<Push["kind"]>([
  ...(["message", "pmessage", "smessage", "monitor", "invalidate", "tracking-redir-broken"] as const),
]);

/** A line, and the immediate output: none, one reply, or several as `heard(…)`. */
export type Turn = readonly [line: string, reply?: Heard | Several];

class Several {
  readonly all: readonly Heard[];

  constructor(all: readonly Heard[]) {
    this.all = all;
  }
}

export function heard(...all: readonly Heard[]): Several {
  return new Several(all);
}

/** Resolves when all immediate work is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

/** With errors reduced to their text, as tests write them. */
function comparable(reply: Reply): Reply {
  if (Array.isArray(reply)) return reply.map(comparable);
  const failure = findError(reply);
  return failure === undefined ? plainReply(reply) : errorReply(new CommandError(failure.text));
}

export class Speaker implements SessionPeer {
  readonly address: string;
  readonly localAddress = "127.0.0.1:6379";
  readonly queuedBytes = 0;
  readonly unreadBytes = 0;
  receivedBytes = 0;
  sentBytes = 0;
  readonly session: Session;
  /** Output that was not read yet. */
  heard: Heard[] = [];
  closed: "when written" | "at once" | undefined;
  resumeCount = 0;

  constructor(options: { address: string; login: SessionLogin; store: Store; clock: VirtualClock }) {
    this.address = options.address;
    this.session = new Session({ ...options, peer: this });
  }

  reply(reply: Reply): void {
    assert.equal(this.closed, undefined, "a closed peer gets no reply");
    this.heard.push(comparable(reply));
  }

  push(push: Push): void {
    assert.equal(this.closed, undefined, "a closed peer gets no push");
    this.heard.push(push);
  }

  resume(): void {
    assert.equal(this.session.isWaiting, false);
    this.resumeCount += 1;
  }

  close(when: "when written" | "at once"): void {
    assert.equal(this.closed, undefined, "a peer is closed once");
    this.closed = when;
  }

  /** Sends the words and returns the output since the last call. */
  say(...words: readonly Bytes[]): Heard[] {
    this.session.execute([...words]);
    return this.listen();
  }

  run(line: string): Heard[] {
    return this.say(...splitLine(line));
  }

  listen(): Heard[] {
    const all = this.heard;
    this.heard = [];
    return all;
  }

  expect(turns: readonly Turn[]): void {
    for (const [line, reply] of turns) {
      const expected = reply === undefined ? [] : reply instanceof Several ? reply.all : [reply];
      assert.deepEqual(this.run(line), expected, line);
    }
  }
}

export interface TestSessions {
  readonly clock: VirtualClock;
  readonly store: Store;
  /** A client that is already authenticated, as the standard user of `main`, or as `as`. */
  connect(as?: Partial<LoggedIn>): Speaker;
  /** A client that must authenticate: with the token `<database>-token`, or `<database>-readonly` as `default_ro`. */
  connectStranger(): Speaker;
}

export function startSessions(options?: {
  journal?: Journal;
  compat?: RedisCompat;
  snapshots?: SnapshotFacts;
  process?: ProcessFigures;
  hasScripts?: boolean;
  guard?: MemoryGuard;
  clock?: VirtualClock;
  undoBytesMax?: number;
}): TestSessions {
  const clock = options?.clock ?? new VirtualClock();
  const store = new Store({
    journal: options?.journal ?? new NullJournal(),
    clock,
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    guard: options?.guard,
    lua: options?.hasScripts === true ? luaOptions : undefined,
    ...(options?.compat === undefined ? {} : { compat: options.compat }),
    snapshots: options?.snapshots,
    ...(options?.process === undefined ? {} : { process: options.process }),
    ...(options?.undoBytesMax === undefined ? {} : { undoBytesMax: options.undoBytesMax }),
  });
  store.database("main");
  const logIn: SessionLogin["logIn"] = ({ user = "default", password }) => {
    for (const database of store.databases) {
      if (user === "default" && password === `${database.name}-token`) return { database, user: defaultUser };
      if (user === "default_ro" && password === `${database.name}-readonly`) return { database, user: readOnlyUser };
    }
    return undefined;
  };
  let port = 40_000;
  const open = (anonymous: LoggedIn | undefined): Speaker => {
    port += 1;
    return new Speaker({ address: `127.0.0.1:${port}`, login: { logIn, anonymous }, store, clock });
  };
  return {
    clock,
    store,
    connect: (as) => open({ database: store.database("main"), user: defaultUser, ...as }),
    connectStranger: () => open(undefined),
  };
}
