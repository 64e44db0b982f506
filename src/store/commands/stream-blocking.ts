/**
 * XREAD and XREADGROUP, which may wait for new entries. A waiting client is
 * served from the one stream that became ready, as soon as its last id has passed
 * what the client, or its group, has read, even if the entries are deleted again.
 *
 * Over HTTP no client waits. Removing a group, or its stream, unblocks the clients
 * that wait for it.
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

/** As Redis: a client that waits without a COUNT does not receive a whole long stream. */
const WAITING_COUNT_MAX = 1_000;

export function xread(call: Call): Reply {
  return answer(call, readRequest(call, false));
}

export function xreadgroup(call: Call): Reply {
  return answer(call, readRequest(call, true));
}

function answer(call: Call, request: ReadRequest): Reply {
  const { blockMs } = request;
  const { transport, isScript } = call.caller;
  // A script never waits, so it may have BLOCK over HTTP too.
  if (blockMs !== undefined && transport === "http" && isScript !== true)
    throw notAvailable(`${call.command.name} BLOCK`);
  const reply = serveRead(call.keyspace, request);
  if (reply !== undefined) return reply;
  return blockMs === undefined ? nilArray : waitFor(call, request, blockMs);
}

function waitFor(call: Call, request: ReadRequest, timeoutMs: number): Reply {
  const { keyspace } = call;
  const { reads, group, countMax } = request;
  const limited = { ...request, countMax: Math.min(countMax, WAITING_COUNT_MAX) };
  return call.wait({
    type: "stream",
    keys: [...new Set(reads.map(({ key }) => key))],
    timeoutMs,
    timedOut: nilArray,
    // Clients of one group take entries from each other; all others get the same ones, from their own positions.
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
  // As Redis: if a key is named twice, the first id counts.
  const read = request.reads.find((one) => one.key === key);
  assert(read !== undefined, "a served client waits for the key");
  const state = group && stream.group(group.name);
  if (group !== undefined && state === undefined) throw awaitedGroupGone;
  const after = state === undefined ? read.after : state.lastId;
  if (after === "new" || compareIds(stream.lastId, after) <= 0) return undefined;
  const reply = serveRead(keyspace, { ...request, reads: [read] });
  if (reply !== undefined) return reply;
  // The new entries were deleted in the same unit of work.
  if (group !== undefined && state !== undefined)
    noteConsumer(keyspace, { groupKey: { key, group: group.name }, group: state, consumer: group.consumer });
  return pairs([[key, emptyArray]]);
}
