/**
 * The body of a delivery to an endpoint: the entries of the run up to that of the
 * message, never a later one, as a JSON array (W.prefix).
 *
 *     [{"messageId":"msg_…","body":"<base64>","callType":"step"}, …]
 *
 * The bodies are stored with the entries. The text of a run's list is cached
 * (steps-payload.ts), so a run of n entries takes memory for n, and a delivery
 * writes only the entries that came since the last one.
 */
import { BODY_DAMAGED, type Bodies, loadUndamaged } from "../bodies/body.ts";
import type { CallBody } from "../delivery/delivery.ts";
import { notFound } from "../failure.ts";
import { joinedRedaction, redactedText } from "../options/redaction.ts";
import type { Message } from "../state/message.ts";
import { messageId } from "../state/message-id.ts";
import type { Entry, Run } from "../state/run.ts";
import type { StepsPayloadCache } from "./steps-payload.ts";

interface Stores {
  readonly bodies: Bodies;
  readonly payloads: StepsPayloadCache;
}

/** The body of a delivery of this message. Rejects as `Bodies.load` does. */
export function deliveryBody(
  { bodies, payloads }: Stores,
  run: Run,
  { message, lazyFetchBytes }: { message: Message; lazyFetchBytes: number },
): CallBody | Promise<CallBody> {
  if (!isList(message)) return withInitial(bodies, run, bodies.load(message.body));
  const entry = run.entryOf(message.sequence);
  if (entry === undefined) return withInitial(bodies, run, EMPTY_LIST);
  if (isLeftOut(message, entry, lazyFetchBytes)) return withInitial(bodies, run, NO_BYTES);
  return payloads.upTo(run, entry.index);
}

/** The approximate length of that body. */
export function deliveryBytes(
  run: Run,
  { message, lazyFetchBytes }: { message: Message; lazyFetchBytes: number },
): number {
  if (!isList(message)) return message.body.length;
  const entry = run.entryOf(message.sequence);
  return entry === undefined || isLeftOut(message, entry, lazyFetchBytes) ? 0 : entry.listBytes;
}

function isList({ envelope }: Message): boolean {
  const { workflow } = envelope.fields;
  return workflow?.callType === "step" && workflow.isBodyOwn !== true;
}

function isLeftOut({ envelope }: Message, { listBytes }: Entry, lazyFetchBytes: number): boolean {
  return envelope.fields.workflow?.isLazy === true && listBytes > lazyFetchBytes;
}

/** All entries in the form that clients get. */
export async function allEntries(
  bodies: Bodies,
  { entries, record }: Pick<Run, "entries" | "record">,
  { isRedacted }: { readonly isRedacted: boolean },
): Promise<readonly { readonly messageId: string; readonly body: string; readonly callType: string }[]> {
  // A copy: the run may get further entries, or lose all, during the reads.
  const listed = [...entries];
  const loaded = await Promise.all(listed.map(({ body }) => loadUndamaged(bodies, body)));
  const damaged = listed[loaded.indexOf(undefined)];
  if (damaged !== undefined) {
    throw notFound(
      `${BODY_DAMAGED}: it belongs to the message ${messageId(damaged.sequence, damaged.nonce)} of the run`,
    );
  }
  return listed.map(({ sequence, nonce, envelope: { fields } }, index) => {
    const bytes = loaded[index] ?? NO_BYTES;
    const isHidden = isRedacted && joinedRedaction(record.config.redact, fields.redact)?.body === true;
    return {
      messageId: messageId(sequence, nonce),
      body: isHidden ? redactedText(bytes) : bytes.toString("base64"),
      callType: fields.workflow?.callType ?? "step",
    };
  });
}

/** Adds the initial body of the run, which the call that reports a failure carries. */
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
