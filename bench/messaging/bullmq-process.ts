/** The job queue of `peer-gateway.ts` is BullMQ on a redis-server: node bullmq-process.ts <port of Redis> */
import { CALLS_MAX, deliver, importPeer, type Job, serve } from "./peer-gateway.ts";

interface Options {
  readonly connection: { readonly host: string; readonly port: number; readonly maxRetriesPerRequest: null };
}

interface BullMq {
  readonly Queue: new (
    name: string,
    options: Options,
  ) => { add(name: string, data: Job, options: object): Promise<unknown> };
  readonly Worker: new (
    name: string,
    run: (job: { data: Job }) => Promise<void>,
    options: Options & { readonly concurrency: number },
  ) => { on(event: "error", listener: (error: Error) => void): void };
}

const QUEUE = "deliveries";
/** Four attempts, the default of larder's messages; finished jobs are not stored. */
const JOB_OPTIONS = {
  attempts: 4,
  backoff: { type: "exponential", delay: 1_000 },
  removeOnComplete: true,
  removeOnFail: 1_000,
};

const { Queue, Worker } = (await importPeer("bullmq")) as unknown as BullMq;
const connection = { host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null };

const queue = new Queue(QUEUE, { connection });
const worker = new Worker(QUEUE, ({ data }) => deliver(data), { connection, concurrency: CALLS_MAX });
worker.on("error", stop);

/** A measurement of a queue with errors is invalid. */
function stop(error: Error): void {
  console.error(error);
  process.exit(1);
}

serve({
  add: async (job, delaySeconds) => {
    await queue.add("deliver", job, { ...JOB_OPTIONS, delay: delaySeconds * 1_000 });
  },
});
