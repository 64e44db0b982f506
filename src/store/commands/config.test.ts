/** CONFIG tells facts only, and sets nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/recording-journal.ts";
import { error, nil, ok, startSession } from "../../../test/store-harness.ts";
import { type Reply, simple } from "../reply.ts";

function pairs(...list: readonly (readonly [string, string])[]): Reply {
  return { kind: "map", pairs: list };
}

test("CONFIG GET answers what matches, under old names too", () => {
  startSession({ journal: new RecordingJournal() }).expect([
    ["CONFIG GET maxmemory", pairs(["maxmemory", "0"])],
    ["CONFIG GET MaxMemory", pairs(["MaxMemory", "0"])],
    ["CONFIG GET MAXMEM*", pairs(["maxmemory", "0"], ["maxmemory-policy", "noeviction"])],
    ["CONFIG GET appendonly databases", pairs(["appendonly", "yes"], ["databases", "1"])],
    ["CONFIG GET hash-max-*-entries", pairs(["hash-max-listpack-entries", "512"], ["hash-max-ziplist-entries", "512"])],
    ["CONFIG GET proto-max-bulk-len maxmemory proto*", pairs(["maxmemory", "0"], ["proto-max-bulk-len", "536870912"])],
    ["CONFIG GET hll-sparse-max-bytes", pairs(["hll-sparse-max-bytes", "3000"])],
    ["CONFIG GET zset-max-zip*", pairs(["zset-max-ziplist-entries", "128"], ["zset-max-ziplist-value", "64"])],
    [
      "CONFIG GET list*",
      pairs(["list-compress-depth", "0"], ["list-max-listpack-size", "128"], ["list-max-ziplist-size", "128"]),
    ],
    ["CONFIG GET notify-keyspace-events", pairs(["notify-keyspace-events", ""])],
    ["CONFIG GET latency*", pairs(["latency-tracking", "yes"], ["latency-tracking-info-percentiles", "50 99 99.9"])],
    ["CONFIG GET unheard-of", pairs()],
    ["CONFIG GET", error("ERR wrong number of arguments for 'config|get' command")],
  ]);
});

test("CONFIG SET refuses by name", () => {
  startSession().expect([
    [
      "CONFIG SET maxmemory 1",
      error("ERR CONFIG SET failed (possibly related to argument 'maxmemory') - can't set immutable config"),
    ],
    ["CONFIG SET unheard-of 1", error("ERR Unknown option or number of arguments for CONFIG SET - 'unheard-of'")],
    ["CONFIG SET maxmemory 1 databases", error("ERR syntax error")],
    ["CONFIG SET maxmemory", error("ERR wrong number of arguments for 'config|set' command")],
    ["CONFIG REWRITE", error("ERR unknown subcommand 'REWRITE'. Try CONFIG HELP.")],
  ]);
});

test("CONFIG HELP and MEMORY HELP name what there is", () => {
  const session = startSession();
  for (const line of ["CONFIG HELP", "MEMORY HELP"]) {
    const reply = session.run(line);
    assert.ok(Array.isArray(reply));
    assert.deepEqual(reply.at(-2), simple("HELP"));
  }
});

test("CONFIG RESETSTAT lets the counters of INFO start anew", () => {
  const session = startSession();
  session.expect([
    ["GET missing", nil],
    ["CONFIG RESETSTAT", ok],
    [
      "INFO commandstats",
      {
        kind: "verbatim",
        text: "# Commandstats\r\ncmdstat_info:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0\r\n",
      },
    ],
  ]);
});
