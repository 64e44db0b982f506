/**
 * The types of the package as its users see them, with all declarations checked.
 * Copied into an empty folder and compiled there, because here nothing is called larderd.
 */

import { type Larder, type StartOptions, StartRefusal, start } from "larderd";
import { type FrozenLarder, freshLarder } from "larderd/jest";

const options: StartOptions = {
  command: "dev",
  threads: "one",
  maxmemory: "100mb",
  rateLimit: 100,
  outboundMap: ["*.test=127.0.0.1:4000"],
  store: { databases: [{ name: "main", maxmemoryPolicy: "allkeys-lru" }] },
  vector: {
    indexes: [{ name: "docs", embedding: { model: "letters" } }],
    models: { letters: { provider: "hashing", dimension: 384 } },
  },
};

export async function useIt(): Promise<string> {
  const larder: Larder = await start(options).catch((fault: unknown) => {
    throw fault instanceof StartRefusal ? new Error(fault.message) : fault;
  });
  await larder.clock.advance(1_000);
  const url: string = larder.store.url;
  await larder.stop();
  const frozen: FrozenLarder = await freshLarder({ clock: "frozen", index: { dimension: 3 } });
  await frozen.clock.advance(1_000);
  await frozen.end();
  return url;
}
