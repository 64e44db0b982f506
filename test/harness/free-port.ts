/** A port for a server that cannot choose one itself. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** The system gives these to nobody: connections and servers with port 0 get higher ones, by default from 32,768 on. */
const FIRST = 15_000;
const END = 32_000;
const TRIES_MAX = 100;

/** A port of 127.0.0.1 that was free a moment ago. Only another caller of this may take it before the caller does. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(FIRST, END);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${FIRST} to ${END} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
