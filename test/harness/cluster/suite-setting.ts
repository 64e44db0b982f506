/**
 * Which server a suite tests. The suites of `conformance/` and `sdk/` run on a
 * single server, or with LARDER_TEST_CLUSTER on a node of a cluster:
 *
 *     LARDER_TEST_CLUSTER=one-lease npm run t -- test/conformance/store-batches.test.ts
 *
 * The first word is the number of nodes, of which one owns everything; the second
 * says which one clients ask: the owner, with this `--reads`, or a node that owns
 * nothing and forwards each request to the owner, which has leases.
 */
import { assert } from "../../../src/kernel/assert.ts";

export interface SuiteSetting {
  readonly nodeCount: number;
  /** Of all nodes. */
  readonly reads: "lease" | "confirm";
  /** The node that clients ask. */
  readonly asks: "owner" | "front";
}

export const SUITE_VARIABLE = "LARDER_TEST_CLUSTER";

export const suiteSettings = {
  "one-lease": { nodeCount: 1, reads: "lease", asks: "owner" },
  "one-confirm": { nodeCount: 1, reads: "confirm", asks: "owner" },
  "three-lease": { nodeCount: 3, reads: "lease", asks: "owner" },
  "three-front": { nodeCount: 3, reads: "lease", asks: "front" },
} as const satisfies Readonly<Record<string, SuiteSetting>>;

export type SuiteSettingName = keyof typeof suiteSettings;

/** Of this process; undefined: a single server. */
export function suiteSetting(): SuiteSetting | undefined {
  const name = process.env[SUITE_VARIABLE];
  if (name === undefined) return undefined;
  const found = Object.entries(suiteSettings).find(([each]) => each === name);
  assert(found !== undefined, `${SUITE_VARIABLE} is one of ${Object.keys(suiteSettings).join(", ")}`);
  return found[1];
}
