/** What a test writes to all areas of one node, to look for it in the node that owns them later. */
import assert from "node:assert/strict";
import type { NodeClient } from "./cluster-program.ts";

export class Contents {
  /** How many keys the store has of it. */
  static readonly keys = 200;
  /** Of the message that waits. */
  readonly messageId: string;

  private constructor(messageId: string) {
    this.messageId = messageId;
  }

  /** Fails if a write is not acknowledged. */
  static async write(client: NodeClient): Promise<Contents> {
    for (let key = 0; key < Contents.keys; key += 1)
      assert.deepEqual(await client.store("SET", `key-${key}`, String(key)), { status: 200, body: { result: "OK" } });
    const upserted = await client.vector("/upsert", { id: "v", vector: [1, 2, 3] });
    assert.equal(upserted.status, 200, JSON.stringify(upserted.body));
    const published = await client.messaging("/v2/publish/https://example.com/hook", {
      body: "later",
      headers: { "upstash-delay": "1h" },
    });
    assert.equal(published.status, 200, JSON.stringify(published.body));
    return new Contents((published.body as { messageId: string }).messageId);
  }

  /** Fails if a node does not answer with all of it. */
  async check(client: NodeClient): Promise<void> {
    for (let key = 0; key < Contents.keys; key += 1)
      assert.deepEqual(await client.store("GET", `key-${key}`), { status: 200, body: { result: String(key) } });
    const fetched = await client.vector("/fetch", { ids: ["v"], includeVectors: true });
    assert.deepEqual((fetched.body as { result: unknown }).result, [{ id: "v", vector: [1, 2, 3] }]);
    const message = await client.messaging(`/v2/messages/${this.messageId}`, { method: "GET" });
    assert.equal((message.body as { messageId?: string }).messageId, this.messageId, JSON.stringify(message));
  }
}
