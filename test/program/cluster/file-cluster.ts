/** The cluster of a test file, on a PostgreSQL of its own, and what the files do with it. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { missingProgram } from "../../harness/required-programs.ts";
import { TestCluster } from "./cluster-program.ts";
import { sql } from "./shard-clients.ts";

/** Arguments of a node that forwards, and names itself in its answers. */
export const FORWARDING = [
  ...["--cluster-address", "127.0.0.1:0", "--takeover-wait", "30s", "--owner-header", "on"],
] as const;

/** Exists while the tests of the file run, with tables, as `larder cluster init` with these words makes them. */
export class FileCluster {
  /** For the option of each test. */
  readonly skip: string | false = missingProgram("postgres");
  #cluster: TestCluster | undefined;

  constructor(words: readonly string[] = []) {
    before(async () => {
      if (this.skip !== false) return;
      this.#cluster = await TestCluster.start();
      const { code, stderr } = await this.#cluster.here(["cluster", "init", ...words]);
      assert.equal(code, 0, stderr);
    });
    after(() => this.#cluster?.stop());
  }

  get all(): TestCluster {
    assert.ok(this.#cluster !== undefined, "the cluster exists only while tests run");
    return this.#cluster;
  }

  startNode(...node: Parameters<TestCluster["startNode"]>): ReturnType<TestCluster["startNode"]> {
    return this.all.startNode(...node);
  }

  /** `larder cluster` with these words, in this process: `all.larder` has a process of its own. */
  larder(words: readonly string[], env?: Readonly<Record<string, string>>): ReturnType<TestCluster["here"]> {
    return this.all.here(["cluster", ...words], env);
  }

  sql<Row>(text: string): Promise<readonly Row[]> {
    return sql<Row>(this.all, text);
  }

  /** Of two shards for each area: the first ones for one node, and the second ones for another. */
  async pinHalves(first: string, second: string): Promise<void> {
    for (const shard of [1, 2, 3, 4, 5, 6]) {
      const node = shard > 3 ? second : first;
      const { code, stdout } = await this.larder(["pin", String(shard), node]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^shard ${shard}: node ${node} should serve it\\nit moves when `));
    }
  }
}
