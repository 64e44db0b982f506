/**
 * Looks at other processes, of which no event reports what a test waits for. A look costs both sides
 * processor time, which the other side needs to get there: so there is a pause between two of them.
 */
import { systemClock } from "../../src/kernel/clock.ts";

/** A hundredth of what most of these changes take. */
const LOOK_MS = 10;
/** For requests that must not be refused meanwhile: a hundred or two of them in a second. */
const REQUEST_MS = 5;

/** Looks again and again until the answer is true. The time limit of the test is its only one. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await pause(LOOK_MS);
}

/** Does something again and again while `work` runs, at least once. Resolves with what came of the work. */
export async function during<Result>(work: Promise<Result>, something: () => Promise<void>): Promise<Result> {
  let isOver = false;
  const end = work.finally(() => {
    isOver = true;
  });
  await something();
  while (!isOver) {
    await pauseBetweenRequests();
    await something();
  }
  return end;
}

/** For a client that sends requests one after the other while something else happens. */
export function pauseBetweenRequests(): Promise<void> {
  return pause(REQUEST_MS);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}
