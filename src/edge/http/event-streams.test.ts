/** The limits of event streams, with sinks that never drain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import type { Grant } from "../auth.ts";
import { type EventStream, EventStreams } from "./event-streams.ts";

interface Reader {
  readonly stream: EventStream;
  isAborted: boolean;
  queuedBytes: number;
}

function open(streams: EventStreams, tenant: string): Reader {
  const grant: Grant = { tenant, access: "standard" };
  let stream: EventStream | undefined;
  const reply = streams.reply({
    grant,
    headers: [],
    route: "A6",
    open: (opened) => {
      stream = opened;
      return () => {};
    },
  });
  const reader = { isAborted: false, queuedBytes: 0 };
  reply.open({
    write: (chunk) => {
      reader.queuedBytes += chunk.length;
      return false;
    },
    get queuedBytes() {
      return reader.queuedBytes;
    },
    end: () => {},
    abort: () => {
      reader.isAborted = true;
    },
  });
  assert.ok(stream !== undefined);
  return Object.assign(reader, { stream });
}

test("A-17: destroys the longest unread streams of a tenant over its limit, and no other tenant's", async () => {
  const clock = new VirtualClock();
  const streams = new EventStreams(clock, { tenantBytesMax: 2_500 });
  const first = open(streams, "a");
  const second = open(streams, "a");
  const other = open(streams, "b");
  const chunk = Buffer.alloc(1_000);
  first.stream.send(chunk);
  other.stream.send(chunk);
  await clock.advance(1_000);
  second.stream.send(chunk);
  await clock.advance(4_000);

  second.stream.send(chunk);

  assert.deepEqual(
    [first, second, other].map(({ isAborted }) => isAborted),
    [true, false, false],
  );
  assert.deepEqual(Object.fromEntries(streams.queuedBytes), { a: 2_000, b: 1_000 });
  assert.equal(streams.endedCount("too slow"), 1);
});

test("a burst to many readers ends no stream", () => {
  const streams = new EventStreams(new VirtualClock(), { tenantBytesMax: 2_500 });
  const readers = Array.from({ length: 10 }, () => open(streams, "a"));
  for (const { stream } of readers) stream.send(Buffer.alloc(1_000));
  assert.equal(
    readers.some(({ isAborted }) => isAborted),
    false,
  );
  for (const reader of readers) reader.queuedBytes = 0;
  for (const { stream } of readers) stream.check();
  assert.deepEqual([...streams.queuedBytes], []);
});
