/** Engine threads and fronts: which combinations of settings a start refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../settings/read-settings.ts";

function problemsOf(words: readonly string[], environment: Readonly<Record<string, string>>): readonly string[] {
  const reading = readSettings({
    arguments: ["serve", "--data-dir", "d", ...words],
    environment,
    readFile: () => "",
    hasLines: false,
  });
  if (reading.kind === "run") return [];
  return reading.kind === "refused" ? reading.problems : [reading.kind];
}

const CLUSTER = { LARDER_CLUSTER: "postgres://larder@db/larder", LARDER_CLUSTER_NODE: "a" };

test("engine threads need a cluster, and a thread for each area", () => {
  for (const [words, environment, problems] of [
    [["--engine-threads", "2"], CLUSTER, []],
    [["--engine-threads", "1", "--threads", "one"], CLUSTER, []],
    [["--engine-threads", "0"], CLUSTER, ['--engine-threads: "0" is not a whole number from 1 to 64']],
    [["--engine-threads", "65"], CLUSTER, ['--engine-threads: "65" is not a whole number from 1 to 64']],
    [
      ["--engine-threads", "2"],
      {},
      ["--engine-threads has no effect without --cluster: set that as well, or leave it out"],
    ],
    [
      ["--threads", "one"],
      { ...CLUSTER, LARDER_ENGINE_THREADS: "2" },
      ["LARDER_ENGINE_THREADS needs a thread per area, and --threads runs all areas in one: keep one of them"],
    ],
    [
      ["--engine-threads", "2", "--port", "8080"],
      CLUSTER,
      ["--engine-threads needs a thread per area, and --port runs all areas in one: keep one of them"],
    ],
  ] as const)
    assert.deepEqual(problemsOf(words, environment), problems, words.join(" "));
});

test("a front needs a cluster, and an address for the other nodes", () => {
  const address = ["--cluster-address", "127.0.0.1:7400"];
  for (const [words, environment, problems] of [
    [["--front", "on", ...address], CLUSTER, []],
    [["--front", "on"], CLUSTER, ["--front needs --cluster-address: without it this node passes nothing on"]],
    [
      [...address],
      { LARDER_FRONT: "on" },
      [
        "--cluster-address has no effect without --cluster: set that as well, or leave it out",
        "LARDER_FRONT has no effect without --cluster: set that as well, or leave it out",
      ],
    ],
  ] as const)
    assert.deepEqual(problemsOf(words, environment), problems, words.join(" "));
});
