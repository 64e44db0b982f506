/**
 * A client in a process of its own: reads its requests, says that it is ready,
 * and begins when it is told. It ends when each request was answered, or when it
 * is told to.
 *
 * node bench/vector/request-process.ts <file of requests> <order as JSON>
 */
import { readFileSync } from "node:fs";
import { RawClient, readRequests } from "../harness/raw-client.ts";
import type { RequestOrder } from "./requests.ts";

const [file = "", text = "{}"] = process.argv.slice(2);
const order = JSON.parse(text) as RequestOrder;
const requests = readRequests(readFileSync(file));
let client: RawClient | undefined;

process.on("message", (message) => {
  if (message === "stop") client?.stop();
  if (message !== "begin") return;
  client = new RawClient({ ...order, requests });
  void client.done.then((result) => {
    process.send?.(result, () => process.exit(0));
  });
});
process.send?.("ready");
