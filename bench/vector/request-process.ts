/**
 * A client in a separate process: reads its requests, reports that it is ready,
 * and begins on a message. It ends when each request was answered, or on
 * a message.
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
