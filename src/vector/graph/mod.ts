/** The entry of the thread that builds graphs: it writes nodes, and loads no index. */
export { buffersOf, type FromGraphWorker, GraphWorker, type ToGraphWorker } from "./graph-worker.ts";
