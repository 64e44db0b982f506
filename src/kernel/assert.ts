/** Our own mistakes: a broken assertion stops the process, and state is recovered from the journal. */

export class AssertionFailure extends Error {
  override name = "AssertionFailure";
}

/** Throws unless `condition` holds. `mustHold` is the condition in words. */
export function assert(condition: unknown, mustHold: string): asserts condition {
  if (!condition) throw new AssertionFailure(mustHold);
}
