/**
 * What a delivery to an endpoint carries: the entries of the run up to its own,
 * as a JSON array, never a later one (spec: workflow 1 "Rule of the prefix").
 *
 *     [{"messageId":"msg_…","body":"<base64>","callType":"step"}, …]
 *
 * The bodies lie with the entries. What was written of a run's list is kept as
 * long as there is room (list-cache.ts), so a run of n entries takes memory for
 * n, and a delivery costs what came since the last one.
 */
import type { Bodies } from "../body.ts";
import type { CallBody } from "../delivery.ts";
import type { Message } from "../message.ts";
import { messageId } from "../message-id.ts";
import { type ListCache, loadAll } from "./list-cache.ts";
import type { Entry, Run } from "./run.ts";

interface Stores {
  readonly bodies: Bodies;
  readonly lists: ListCache;
}

/** The body of a delivery of this message. Rejects as `Bodies.load` does. */
export function deliveryBody(
  { bodies, lists }: Stores,
  run: Run,
  { message, lazyFetchBytes }: { message: Message; lazyFetchBytes: number },
): CallBody | Promise<CallBody> {
  const { workflow } = message.envelope.fields;
  const isList = workflow?.callType === "step" && workflow.isBodyOwn !== true;
  if (!isList) return withInitial(bodies, run, bodies.load(message.body));
  const entry = run.entryOf(message.sequence);
  if (entry === undefined) return withInitial(bodies, run, EMPTY_LIST);
  const isLeftOut = workflow.isLazy === true && entry.listBytes > lazyFetchBytes;
  if (isLeftOut) return withInitial(bodies, run, NO_BYTES);
  return lists.listUpTo(run, entry.index);
}

/** All entries as clients see them. */
export async function allEntries(
  bodies: Bodies,
  entries: readonly Entry[],
): Promise<readonly { readonly messageId: string; readonly body: string; readonly callType: string }[]> {
  const loaded = await loadAll(bodies, entries, { from: 0, to: entries.length });
  return entries.map(({ sequence, nonce, envelope }, index) => ({
    messageId: messageId(sequence, nonce),
    body: (loaded[index] ?? NO_BYTES).toString("base64"),
    callType: envelope.fields.workflow?.callType ?? "step",
  }));
}

/** The call that tells of a failure carries what the run began with. */
function withInitial(bodies: Bodies, { entries }: Run, own: Buffer | Promise<Buffer>): CallBody | Promise<CallBody> {
  const [first] = entries;
  const initial = first === undefined ? NO_BYTES : bodies.load(first.body);
  if (initial instanceof Promise || own instanceof Promise) {
    return Promise.all([own, initial]).then(([sent, began]) => ({ sent, initial: began }));
  }
  return { sent: own, initial };
}

const NO_BYTES = Buffer.alloc(0);
const EMPTY_LIST = Buffer.from("[]");
