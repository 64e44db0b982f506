/** How far a change of tenants has come: the wait for the nodes of the cluster, which has an end. */
import type { ChangeReach } from "../../../edge/admin/routes.ts";
import type { Clock } from "../../../kernel/clock.ts";

export interface ReachOptions {
  /** The names of the nodes that are not dead and have not reported a version. */
  lacking(version: number): Promise<readonly string[]>;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
}

/**
 * How long a change waits for the nodes. One that is gone is declared dead after 6 s without a renewal, and that is seen
 * within a second or two.
 */
const REACH_MS_MAX = 10_000;
/** How often to look which nodes have it. */
const LOOK_MS = 100;

/** Resolves when every node that is not dead has reported a version, or after `REACH_MS_MAX`. Never rejects. */
export async function whenReached(version: number, { lacking, clock }: ReachOptions): Promise<ChangeReach> {
  const late = Promise.withResolvers<undefined>();
  let isLate = false;
  const cancel = clock.after(REACH_MS_MAX, () => {
    isLate = true;
    late.resolve(undefined);
  });
  let missing: readonly string[] | undefined;
  while (!isLate) {
    // PostgreSQL may not answer: then the last answer counts, and the polls of the node log it.
    const names = await Promise.race([lacking(version).catch(() => undefined), late.promise]);
    if (names?.length === 0) {
      cancel();
      return { reachedAllNodes: true };
    }
    missing = names ?? missing;
    await Promise.race([new Promise<void>((resolve) => clock.after(LOOK_MS, resolve)), late.promise]);
  }
  return { reachedAllNodes: false, ...(missing !== undefined && { missingNodes: missing }) };
}
