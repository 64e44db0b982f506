/**
 * XREAD and XREADGROUP, which may wait for new entries. Whoever waits is served
 * from the one stream that became ready, as soon as its last id has passed what
 * the caller, or its group, has read; also when the entries are gone again.
 *
 * Over HTTP nobody waits. A group that goes away, or its stream, ends the
 * waiting for it.
 */

import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { awaitedGroupGone, awaitedStreamGone, notAvailable } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { emptyArray, nilArray, pairs, type Reply } from "../reply/reply.ts";
import { compareIds } from "../structures/stream-id.ts";
import { StreamValue } from "../values/stream.ts";
import { noteConsumer, type ReadRequest, readRequest, serveRead } from "./stream-read.ts";

/** As Redis: who waits without a COUNT is not given a whole long stream. */
const WAITING_COUNT_MAX = 1_000;

export function xread(call: Call): Reply {
  return answer(call, readRequest(call, false));
}

export function xreadgroup(call: Call): Reply {
  return answer(call, readRequest(call, true));
}

function answer(call: Call, request: ReadRequest): Reply {
  const { blockMs } = request;
  if (blockMs !== undefined && call.caller.transport === "http") throw notAvailable(`${call.command.name} BLOCK`);
  const reply = serveRead(call.keyspace, request);
  if (reply !== undefined) return reply;
  return blockMs === undefined ? nilArray : waitFor(call, request, blockMs);
}

function waitFor(call: Call, request: ReadRequest, timeoutMs: number): Reply {
  const { keyspace } = call;
  const { reads, group, countMax } = request;
  const limited = { ...request, countMax: Math.min(countMax, WAITING_COUNT_MAX) };
  return call.wait({
    keys: [...new Set(reads.map(({ key }) => key))],
    timeoutMs,
    timedOut: nilArray,
    // Those of a group take from each other; all others are given the same, from where each has read.
    line: group === undefined ? "stream" : `group ${group.name}`,
    isAlone: group === undefined,
    serve: (key) => serveWaiting(keyspace, limited, key),
  });
}

function serveWaiting(keyspace: Keyspace, request: ReadRequest, key: Bytes): Reply | undefined {
  const { group } = request;
  const stream = keyspace.peek(key);
  if (!(stream instanceof StreamValue)) {
    if (group !== undefined) throw awaitedStreamGone;
    return undefined;
  }
  // As Redis: of a key that is named twice, the first id counts.
  const read = request.reads.find((one) => one.key === key);
  assert(read !== undefined, "who is served waits for the key");
  const state = group && stream.group(group.name);
  if (group !== undefined && state === undefined) throw awaitedGroupGone;
  const after = state === undefined ? read.after : state.lastId;
  if (after === "new" || compareIds(stream.lastId, after) <= 0) return undefined;
  const reply = serveRead(keyspace, { ...request, reads: [read] });
  if (reply !== undefined) return reply;
  // What came has been deleted in the same unit of work.
  if (group !== undefined && state !== undefined)
    noteConsumer(keyspace, { groupKey: { key, group: group.name }, group: state, consumer: group.consumer });
  return pairs([[key, emptyArray]]);
}
