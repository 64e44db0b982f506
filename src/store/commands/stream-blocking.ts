/**
 * XREAD and XREADGROUP, which may wait for new entries. As Redis since 7.2, a
 * stream that becomes ready runs the command of a waiting client again, for all its
 * streams: it is served, or gets the error that the command now has, or keeps
 * waiting. `$` remains the last id of the first run. With CLAIM, time alone may
 * serve a client: when an entry has been pending for long enough.
 *
 * Over HTTP no client waits. Removing a group, or its stream, unblocks the clients
 * that wait for it.
 */

import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { notAvailable, wrongType } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { nilArray, type Reply } from "../reply/reply.ts";
import { StreamValue } from "../values/stream.ts";
import { untilClaimable } from "./stream-claim.ts";
import { groupNotFound, type ReadRequest, readRequest, serveRead } from "./stream-read.ts";

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
  const { reads, group } = request;
  const keys = [...new Set(reads.map(({ key }) => key))];
  const claimMs = group?.claimMs;
  return call.wait({
    type: "stream",
    keys,
    timeoutMs,
    timedOut: nilArray,
    // Clients of one group take entries from each other; all others get the same ones, from their own positions.
    line: group === undefined ? "stream" : `${claimMs === undefined ? "" : `claim ${claimMs} `}group ${group.name}`,
    isAlone: group === undefined,
    ...(claimMs !== undefined && {
      readyInMs: () => untilClaimable(keyspace, { keys, group: group?.name ?? "" }, claimMs),
    }),
    serve: (key) => serveWaiting(keyspace, request, key),
  });
}

function serveWaiting(keyspace: Keyspace, request: ReadRequest, readyKey: Bytes): Reply | undefined {
  const { reads, group } = request;
  // Without a group, a client waits for a stream, whatever else is at the key meanwhile.
  if (group === undefined && !(keyspace.peek(readyKey) instanceof StreamValue)) return undefined;
  for (const { key } of reads) {
    const value = keyspace.peek(key);
    if (value !== undefined && !(value instanceof StreamValue)) throw wrongType;
    if (group !== undefined && value?.group(group.name) === undefined) throw groupNotFound(key, group.name);
  }
  return serveRead(keyspace, request);
}
