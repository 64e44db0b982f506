/**
 * Mistakes that a cluster must not make, and the test that finds each of them when
 * it is planted. A mistake without a finder is a hole in the tests.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { clusterBugs } from "../planted/cluster.ts";
import { forwardingBugs, revocationBugs } from "../planted/forwarding.ts";
import { objectBugs } from "../planted/objects.ts";
import { linearBugs, shippedBodyBugs, shippedBugs, standbyBugs } from "../planted/shipped.ts";

const LOG_STORE = "test/differential/cluster/log-store.test.ts";

/** A planted bug: of a table of `planted/`, or of a test file, which has its name in quotes. */
type Finder = readonly [
  table: { readonly simulation: string; readonly bugs: readonly { readonly name: string }[] } | string,
  name: string,
];

const finders: readonly (readonly [mistake: string, ...finders: Finder[]])[] = [
  ["no comparison of the epoch", [LOG_STORE, "a statement does not compare the epoch"]],
  ["a lock that a claim does not wait for", [LOG_STORE, "a statement locks the shard FOR KEY SHARE"]],
  [
    "an acknowledgement of a commit with a warning",
    [shippedBugs, "an append with a warning, or without an answer, is acknowledged"],
  ],
  ["a repetition that is no commit", [shippedBugs, "a repetition that finds its row is acknowledged without a commit"]],
  ["a later batch before a repetition", [shippedBugs, "a later batch is sent before the repetition"]],
  ["a renewal by SELECT", [clusterBugs, "a renewal is a read"]],
  ["a lease from the arrival of the answer", [clusterBugs, "a lease is counted from the arrival of the answer"]],
  ["a watch that counts through an outage", [clusterBugs, "a watch counts through an outage"]],
  [
    "a watch that does not begin with each beat",
    [clusterBugs, "a watch starts when a life is first seen, not with each of its beats"],
  ],
  ["a tail that is read before the claim", [clusterBugs, "the log is read before the claim"]],
  ["an open segment of the cache", [shippedBugs, "an open segment of the cache is used again"]],
  ["a salt that is used again", [shippedBugs, "all segments have the same salt"]],
  ["an open segment that the next owner goes on with", [shippedBugs, "a takeover goes on with the open segment"]],
  ["a local end beyond PostgreSQL", [shippedBugs, "the end of a file that the store does not have is replayed"]],
  ["a trim without a fence", [shippedBugs, "a former owner removes segments"]],
  ["a part of a snapshot without a fence", [shippedBugs, "a former owner writes parts of a snapshot"]],
  ["a trim before the pointer", [shippedBugs, "segments are removed before the pointer of the snapshot is committed"]],
  [
    "a trim of live bodies",
    [shippedBodyBugs, "a trim takes a segment that has a live body"],
    [shippedBodyBugs, "a trim takes the segments before the one that it names"],
  ],
  ["a pointer before its parts", [shippedBugs, "the pointer of a snapshot is committed before its parts"]],
  ["a pointer before its object", [objectBugs, "the pointer of a snapshot is committed before its object is there"]],
  ["a sweep of a pointed object", [objectBugs, "a sweep removes the object that a pointer names"]],
  ["a start from an older object", [objectBugs, "a takeover begins with an older object"]],
  ["bytes that are shipped during their write", [shippedBugs, "bytes are shipped while they are written"]],
  [
    "a front that sends again what it has sent",
    [forwardingBugs, "a front sends a request again whose answer was lost"],
    [forwardingBugs, "a front sends a request again that has no answer yet"],
  ],
  ["a loop of nodes", [forwardingBugs, "a node forwards what was forwarded to it"]],
  [
    "a revocation that does not wait for all nodes",
    [revocationBugs, "a change of tokens is answered when the first node has it"],
    [revocationBugs, "a node reports a change of tokens before its engines have made it"],
  ],
  ["a poll that misses a change", [clusterBugs, "a change that was committed late is missed"]],
  ["a claim of what a newer version wrote", [clusterBugs, "the format is ignored at a claim"]],
  [
    "a standby that is believed",
    [standbyBugs, "a follower takes an open segment, and a claim believes it without a comparison"],
  ],
  ["a standby that writes beside its owner", [standbyBugs, "a node goes on following a shard that it has claimed"]],
  ["a clock without its floor", [clusterBugs, "the floor of the clock is ignored"]],
  ["calls while a commit is late", [clusterBugs, "calls start while a row waits long for its commit"]],
  ["rows sent again under the epoch of another", [shippedBugs, "rows are sent again under the epoch of another owner"]],
  ["replies without a lease", [linearBugs, "a reply leaves without the lease"]],
  [
    "a read that trusts an earlier renewal",
    [clusterBugs, "a read waits for the end of a renewal that was sent before it"],
  ],
];

test("every mistake of a cluster has a test that finds it when it is planted", () => {
  for (const [mistake, ...found] of finders) {
    assert.ok(found.length > 0, mistake);
    for (const [table, name] of found) {
      const isThere =
        typeof table === "string"
          ? readFileSync(table, "utf8").includes(`"${name}"`)
          : table.bugs.some((bug) => bug.name === name);
      assert.ok(isThere, `${mistake}: ${typeof table === "string" ? table : table.simulation} has no bug "${name}"`);
    }
  }
});

test("every planted bug of a cluster is the finder of a mistake", () => {
  const named = new Set(finders.flatMap(([, ...found]) => found.map(([, name]) => name)));
  const tables = [
    clusterBugs,
    forwardingBugs,
    revocationBugs,
    shippedBugs,
    shippedBodyBugs,
    standbyBugs,
    objectBugs,
    linearBugs,
  ];
  const planted = tables.flatMap(({ bugs }: { readonly bugs: readonly { readonly name: string }[] }) => bugs);
  assert.deepEqual(
    planted.map(({ name }) => name).filter((name) => !named.has(name)),
    [],
  );
});
