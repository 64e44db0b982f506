/** Writes one value after the other, so that one is under way at each moment: also when PostgreSQL goes away. */
import assert from "node:assert/strict";
import type { NodeClient } from "./cluster-program.ts";

export class UnbrokenWrites {
  /** Of the last write that was acknowledged. */
  #number = 0;
  #isOver = false;
  readonly #writing: Promise<void>;

  /** Begins to write numbers to a key. */
  constructor(client: NodeClient, key: string) {
    this.#writing = this.#write(client, key);
    // `end` reports it.
    this.#writing.catch(() => {});
  }

  /** Waits for the write that is under way, and returns its number. Rejects if one was not acknowledged. */
  async end(): Promise<number> {
    this.#isOver = true;
    await this.#writing;
    return this.#number;
  }

  async #write(client: NodeClient, key: string): Promise<void> {
    while (!this.#isOver) {
      const answer = await client.store("SET", key, String(this.#number + 1));
      assert.deepEqual(answer, { status: 200, body: { result: "OK" } });
      this.#number += 1;
    }
  }
}
