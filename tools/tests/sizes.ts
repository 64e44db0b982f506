/** What each size of a test run has. Each test file is in `test` or in `proof`. */
import { budgets } from "../../test/budget.ts";

export interface Size {
  /** Whether format, lint and types are checked first. */
  readonly hasStatics: boolean;
  readonly tests: readonly string[];
  /** Test processes at a time, for two cores. */
  readonly concurrency: number;
  /** A single test that takes longer hangs. */
  readonly testMsMax: number;
  /** Whether tests start the program. */
  readonly startsProgram: boolean;
}

/** The house rules. */
export const HOUSE = ["test/*.test.ts"];
const UNIT = [
  ...HOUSE,
  "src/**/*.test.ts",
  "test/harness/*.test.ts",
  "test/long/*.test.ts",
  "test/conformance/**/*.test.ts",
];
const WHOLE = ["test/program/**/*.test.ts", "test/sdk/**/*.test.ts", "test/console/**/*.test.ts"];
/** They wait for leases in real time, or for servers that take long to start: only a proof has them. */
const SLOW = ["test/failover/**/*.test.ts", "test/object-stores/**/*.test.ts"];
/** `npm test` draws some of their tests, and a proof has all of them. */
const DRAWN = [
  "test/program/cluster/{import-shards,moving-tenants,run-time-tenants,shard-threads}.test.ts",
  "test/program/vector-rows.test.ts",
  "test/console/{main-paths,pages}.test.ts",
];
const RANDOM = ["test/differential/**/*.test.ts", "test/simulation/**/*.test.ts", "test/fuzz/**/*.test.ts"];

export const sizes: Readonly<Record<string, Size>> = {
  ok: { hasStatics: true, tests: UNIT, concurrency: 2, testMsMax: 60_000, startsProgram: false },
  test: {
    hasStatics: true,
    tests: [...UNIT, ...WHOLE, ...RANDOM],
    // Those that start programs and nodes wait for them most of the time.
    concurrency: 3,
    testMsMax: 120_000,
    startsProgram: true,
  },
  proof: {
    hasStatics: false,
    tests: [...RANDOM, ...SLOW, ...DRAWN, ...budgets.flatMap((row) => (row.setting === undefined ? row.files : []))],
    // More would need too much memory, and suites that measure times would miss their limits.
    concurrency: 2,
    testMsMax: 1_800_000,
    startsProgram: true,
  },
};
