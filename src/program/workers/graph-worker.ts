/** The thread that builds the graphs of the vector area. Started by `graph-threads.ts`. */
import "../prototype.ts";
import { parentPort } from "node:worker_threads";
import { buffersOf, GraphWorker, type ToGraphWorker } from "../../vector/graph/mod.ts";

const port = parentPort;
if (port !== null) {
  const worker = new GraphWorker((message) => port.postMessage(message, buffersOf(message.batch)));
  // The area's thread sends nothing else.
  port.on("message", (message: ToGraphWorker) => worker.hear(message));
}
