/** The job queue of `peer-gateway.ts` is pg-boss on PostgreSQL: node pg-boss-process.ts <connection string> */
import { deliver, importPeer, type Job, serve } from "./peer-gateway.ts";

interface Boss {
  start(): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): void;
  createQueue(name: string): Promise<void>;
  send(name: string, data: Job, options: object): Promise<unknown>;
  work(name: string, options: object, run: (jobs: readonly { data: Job }[]) => Promise<void>): Promise<unknown>;
}

const QUEUE = "deliveries";
/** It polls for jobs at most twice a second, so workers fetch them by the hundred. */
const WORKERS = 8;
const WORK_OPTIONS = { batchSize: 250, pollingIntervalSeconds: 0.5 };
const JOB_OPTIONS = { retryLimit: 3, retryBackoff: true };

const module = await importPeer("pg-boss");
const PgBoss = (module["PgBoss"] ?? module["default"]) as new (options: object) => Boss;

const boss = new PgBoss({ connectionString: process.argv[2], max: 20 });
// A measurement of a queue with errors is invalid.
boss.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
await boss.start();
await boss.createQueue(QUEUE);
for (let i = 0; i < WORKERS; i += 1) {
  await boss.work(QUEUE, WORK_OPTIONS, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => deliver(data)));
  });
}

serve({
  add: async (job, delaySeconds) => {
    await boss.send(QUEUE, job, delaySeconds > 0 ? { ...JOB_OPTIONS, startAfter: delaySeconds } : JOB_OPTIONS);
  },
});
