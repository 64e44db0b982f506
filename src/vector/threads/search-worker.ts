/** The loop of a search thread, until it is stopped. This file creates no thread. */
import type { Mailbox } from "./mailbox.ts";
import { type SearchPort, TaskRunner } from "./task-runner.ts";

export function runSearches(mailbox: Mailbox, port: SearchPort): void {
  const runner = new TaskRunner(mailbox, port);
  mailbox.setReady();
  while (!mailbox.isStopped) {
    // Before the messages and tasks that belong to it.
    const seen = mailbox.wakeCount;
    runner.receive();
    if (!runner.step()) mailbox.wait(seen);
  }
}
