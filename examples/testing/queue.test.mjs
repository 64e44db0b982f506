/** A queue and a worker of BullMQ, without Redis. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue, QueueEvents, Worker } from "bullmq";
import { freshLarder } from "larderd/node-test";

test("a job that fails once is tried again, and its result arrives", async (context) => {
  const { redisUrl } = await freshLarder(context);
  const connection = { url: redisUrl };
  const queue = new Queue("mails", { connection });
  const events = new QueueEvents("mails", { connection });
  const attempts = [];
  const worker = new Worker(
    "mails",
    async (job) => {
      attempts.push(job.attemptsMade);
      if (job.attemptsMade === 0) throw new Error("the mail server is busy");
      return `sent to ${job.data.to}`;
    },
    { connection },
  );
  await Promise.all([events.waitUntilReady(), worker.waitUntilReady()]);

  const job = await queue.add("welcome", { to: "ann" }, { attempts: 2 });

  assert.equal(await job.waitUntilFinished(events, 10_000), "sent to ann");
  assert.deepEqual(attempts, [0, 1]);
  await Promise.all([worker.close(), events.close(), queue.close()]);
});
