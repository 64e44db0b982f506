/**
 * Copies one redis-server into another as people do it by hand, with ioredis: a page
 * of SCAN, DUMP and PEXPIRETIME of its keys in one pipeline, RESTORE in another. It
 * compares nothing.
 *
 *     node bench/peers/copy-by-hand.ts <port of the source> <port of the target> <database of the source>
 */
import { Redis } from "ioredis";

const PAGE_KEYS = 500;

const [from = "", to = "", database = "0"] = process.argv.slice(2);
const source = new Redis(Number(from), "127.0.0.1", { db: Number(database) });
const target = new Redis(Number(to), "127.0.0.1");

async function copy(keys: readonly string[]): Promise<void> {
  const reading = source.pipeline();
  for (const key of keys) {
    reading.pexpiretime(key);
    reading.dumpBuffer(key);
  }
  const replies = (await reading.exec()) ?? [];
  const writing = target.pipeline();
  for (const [index, key] of keys.entries()) {
    const expiry = Number(replies[2 * index]?.[1]);
    const dump = replies[2 * index + 1]?.[1] as Buffer | null;
    if (dump !== null) writing.restore(key, Math.max(expiry, 0), dump, "ABSTTL");
  }
  for (const [error] of (await writing.exec()) ?? []) {
    // SCAN may return a key twice.
    if (error !== null && !error.message.startsWith("BUSYKEY")) throw error;
  }
}

let cursor = "0";
do {
  const [next, keys] = await source.scan(cursor, "COUNT", PAGE_KEYS);
  await copy(keys);
  cursor = next;
} while (cursor !== "0");
await Promise.all([source.quit(), target.quit()]);
