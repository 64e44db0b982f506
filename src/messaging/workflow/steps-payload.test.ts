/** Texts of lists: the same bytes as a list that is built from scratch, also after evictions. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { seededRandom } from "../../kernel/random.ts";
import { Body } from "../bodies/body.ts";
import type { CallBody } from "../delivery/delivery.ts";
import { defaultLimits } from "../limits.ts";
import { messageId } from "../state/message-id.ts";
import { MessagingState } from "../state/messaging-state.ts";
import type { Run } from "../state/run.ts";
import type { User } from "../state/user.ts";
import { StepsPayloadCache } from "./steps-payload.ts";

const KEYS = { current: "sig_1", next: "sig_2" };

function realmWithUser(): { state: MessagingState; user: User } {
  const state = new MessagingState(defaultLimits);
  return { state, user: state.createUser(1, "main", KEYS) };
}

function runOf(state: MessagingState, user: User, id: string): Run {
  const record = { id, url: "https://app.test/", createdAtMs: 1, callerIp: "", config: { headers: [] }, depth: 0 };
  return state.createRun(user, record);
}

let sequence = 0;

function put(state: MessagingState, run: Run, bytes: Buffer): Body {
  sequence += 1;
  const body = Body.of(bytes, true);
  const workflow = { runId: run.id, callType: "step" } as const;
  const fields = { url: run.record.url, method: "POST", headers: [], retriesMax: 3, workflow };
  const facts = { sequence, nonce: sequence * 7, createdAtMs: 1, notBeforeMs: 1, slotOwner: 0 };
  state.copyEntry(run.user, state.envelopes.share(fields), body, facts);
  return body;
}

/** The list of the interface (W.prefix), built from scratch. */
function plainList(run: Run, bodies: readonly Buffer[], index: number): string {
  const entries = run.entries.slice(0, index + 1).map(({ sequence: number, nonce }, at) => ({
    messageId: messageId(number, nonce),
    body: bodies[at]?.toString("base64"),
    callType: "step",
  }));
  return JSON.stringify(entries);
}

function bytesOf({ sent }: CallBody): Buffer {
  return Buffer.isBuffer(sent) ? sent : Buffer.concat(sent);
}

function now(list: CallBody | Promise<CallBody>): CallBody {
  assert.ok(!(list instanceof Promise), "all bodies are in memory");
  return list;
}

test("each list has its entries and its own digest, and does not change while the run continues", () => {
  const { state, user } = realmWithUser();
  const run = runOf(state, user, "wfr_1");
  const payloads = new StepsPayloadCache(state.bodies);
  const random = seededRandom(7);
  const lengths = [0, 3, 700, 1, 30_000, 5, 80_000, 2, 47_000, 47_000, 1, 200_000, 12];
  const bodies = lengths.map((length) => Buffer.from(Array.from({ length }, () => random.below(256))));
  const given: { list: CallBody; text: string }[] = [];

  for (const [index, bytes] of bodies.entries()) {
    put(state, run, bytes);
    // Every third entry is not delivered at once, like one with a delay.
    if (index % 3 === 1) continue;
    given.push({ list: now(payloads.upTo(run, index)), text: plainList(run, bodies, index) });
  }
  for (const index of [1, 4, 10]) {
    given.push({ list: now(payloads.upTo(run, index)), text: plainList(run, bodies, index) });
  }

  for (const { list, text } of given) {
    assert.equal(bytesOf(list).toString("latin1"), text);
    assert.equal("digest" in list && list.digest, createHash("sha256").update(text).digest("base64url"));
    assert.deepEqual(list.initial, bodies[0]);
  }
});

test("the initial body of the run is read from its list unchanged", () => {
  const { state, user } = realmWithUser();
  const run = runOf(state, user, "wfr_1");
  const payload = Buffer.from([0, 255, 10, 34, 92, 93, 44]);
  put(state, run, payload);
  put(state, run, Buffer.alloc(100_000, "x"));
  assert.deepEqual(now(new StepsPayloadCache(state.bodies).upTo(run, 1)).initial, payload);
});

test("beyond the limit the least recently called run loses its text, and gets the same list again", () => {
  const { state, user } = realmWithUser();
  const payloads = new StepsPayloadCache(state.bodies, 8_192);
  const runs = ["wfr_1", "wfr_2", "wfr_3", "wfr_4", "wfr_5"].map((id) => runOf(state, user, id));
  const bodies = runs.map((_, index) => Buffer.alloc(300, String(index)));
  for (const [index, run] of runs.entries()) put(state, run, bodies[index] ?? Buffer.alloc(0));
  const [first, second, third, fourth, fifth] = runs as [Run, Run, Run, Run, Run];
  for (const run of [first, second, third, fourth]) payloads.upTo(run, 0);
  assert.equal(payloads.count, 4);

  payloads.upTo(first, 0);
  payloads.upTo(fifth, 0);

  assert.ok(payloads.bytes <= 8_192);
  assert.equal(second.stepsPayload, undefined);
  assert.notEqual(first.stepsPayload, undefined);
  const again = now(payloads.upTo(second, 0));
  assert.equal(bytesOf(again).toString(), plainList(second, [bodies[1] ?? Buffer.alloc(0)], 0));
  assert.ok(payloads.bytes <= 8_192);
});

test("a list of more than a quarter of the limit is sent, but not cached, and evicts no other list", () => {
  const { state, user } = realmWithUser();
  const payloads = new StepsPayloadCache(state.bodies, 16_384);
  const [small, large] = [runOf(state, user, "wfr_1"), runOf(state, user, "wfr_2")];
  put(state, small, Buffer.from("small"));
  const body = Buffer.alloc(10_000, "x");
  put(state, large, body);
  payloads.upTo(small, 0);

  const list = now(payloads.upTo(large, 0));

  assert.equal(bytesOf(list).toString(), plainList(large, [body], 0));
  assert.equal(large.stepsPayload, undefined);
  assert.equal(payloads.count, 1);
  assert.notEqual(small.stepsPayload, undefined);
});

test("another start of a run has its own list, and does not change a call under way", () => {
  const { state, user } = realmWithUser();
  const payloads = new StepsPayloadCache(state.bodies);
  const run = runOf(state, user, "wfr_1");
  put(state, run, Buffer.from("first start"));
  const before = now(payloads.upTo(run, 0));
  const text = plainList(run, [Buffer.from("first start")], 0);

  state.restartRun(run, { headers: [] });
  assert.deepEqual([payloads.count, payloads.bytes], [0, 0]);
  put(state, run, Buffer.from("second start"));
  const after = now(payloads.upTo(run, 0));

  assert.equal(bytesOf(before).toString(), text);
  assert.equal(bytesOf(after).toString(), plainList(run, [Buffer.from("second start")], 0));
});

/** Bodies on a disk that answers when the test lets it. */
class SlowDisk {
  readonly reads: number[] = [];
  readonly #bytes = new Map<number, Buffer>();
  #waiting: (() => void)[] = [];

  /** The body leaves memory; its number is its offset. */
  take(state: MessagingState, body: Body, bytes: Buffer): void {
    const offset = this.#bytes.size + 1;
    this.#bytes.set(offset, bytes);
    state.bodies.note(body, 0);
    state.bodies.appended(offset, offset);
    state.bodies.written({ start: offset - 1, end: offset, segment: 1, offset: 0 });
    state.bodies.setAside(body);
    assert.equal(body.bytes, undefined);
    assert.equal(body.checksum, crc32(bytes));
  }

  async read(_segment: number, offset: number): Promise<Buffer> {
    this.reads.push(offset);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#bytes.get(offset) ?? Buffer.alloc(0);
  }

  answer(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function onDisk(texts: readonly string[]) {
  const { state, user } = realmWithUser();
  const disk = new SlowDisk();
  state.bodies.open(disk);
  const run = runOf(state, user, "wfr_1");
  const bodies = texts.map((text) => Buffer.from(text));
  for (const bytes of bodies) disk.take(state, put(state, run, bytes), bytes);
  return { state, disk, run, bodies };
}

test("bodies on the disk are read once, and not again while the text is cached", async () => {
  const { state, disk, run, bodies } = onDisk(["begin", "one", "two"]);
  const payloads = new StepsPayloadCache(state.bodies);

  const second = payloads.upTo(run, 1);
  disk.answer();
  assert.equal(bytesOf(await second).toString(), plainList(run, bodies, 1));
  const third = payloads.upTo(run, 2);
  disk.answer();
  assert.equal(bytesOf(await third).toString(), plainList(run, bodies, 2));

  assert.equal(bytesOf(now(payloads.upTo(run, 0))).toString(), plainList(run, bodies, 0));
  assert.deepEqual(disk.reads, [1, 2, 3]);
});

test("two calls that read at the same time add no entry twice", async () => {
  const { state, disk, run, bodies } = onDisk(["begin", "one", "two"]);
  const payloads = new StepsPayloadCache(state.bodies);
  const early = payloads.upTo(run, 1);
  const late = payloads.upTo(run, 2);
  disk.answer();
  assert.equal(bytesOf(await late).toString(), plainList(run, bodies, 2));
  assert.equal(bytesOf(await early).toString(), plainList(run, bodies, 1));
});

test("a run that ends while its bodies are read leaves no cached text, and the call has its list", async () => {
  const { state, disk, run, bodies } = onDisk(["begin", "one"]);
  const payloads = new StepsPayloadCache(state.bodies);
  const text = plainList(run, bodies, 1);
  const list = payloads.upTo(run, 1);
  state.endRun(run, { state: 3, atMs: 2, result: undefined });
  disk.answer();
  assert.equal(bytesOf(await list).toString(), text);
  assert.deepEqual([payloads.count, payloads.bytes, run.stepsPayload], [0, 0, undefined]);
});
