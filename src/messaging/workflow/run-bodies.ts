/**
 * What a delivery to an endpoint carries: the entries of the run up to its own,
 * as a JSON array, never a later one (spec: workflow 1 "Rule of the prefix").
 *
 *     [{"messageId":"msg_…","body":"<base64>","callType":"step"}, …]
 *
 * The bodies lie with the entries; a list is put together when it is sent and
 * let go when the call ends, so a run of n entries takes memory for n.
 */
import type { Bodies } from "../body.ts";
import type { Message } from "../message.ts";
import { messageId } from "../message-id.ts";
import type { Entry, Run } from "./run.ts";

/** What is sent, and what the run began with: the call that tells of a failure carries that. */
export interface RunBody {
  readonly sent: Buffer;
  readonly initial: Buffer;
}

/** In an entry of the list, beside its body. */
const ENTRY_BYTES = 80;

/** The body of a delivery of this message. Rejects as `Bodies.load` does. */
export function deliveryBody(
  bodies: Bodies,
  run: Run,
  { message, lazyFetchBytes }: { message: Message; lazyFetchBytes: number },
): RunBody | Promise<RunBody> {
  const { workflow } = message.envelope.fields;
  const isList = workflow?.callType === "step" && workflow.isBodyOwn !== true;
  const [first] = run.entries;
  const prefix = isList ? entriesUpTo(run, message.sequence) : [];
  const isLeftOut = isList && workflow.isLazy === true && listBytes(prefix) > lazyFetchBytes;
  const initial = first === undefined ? NO_BYTES : bodies.load(first.body);
  const own = isList ? loadAll(bodies, isLeftOut ? [] : prefix) : loadOne(bodies, message);
  const finish = (initialBytes: Buffer, loaded: readonly Buffer[]): RunBody => {
    const [single = NO_BYTES] = loaded;
    const sent = isList ? (isLeftOut ? NO_BYTES : listOf(prefix, loaded)) : single;
    return { sent, initial: initialBytes };
  };
  if (initial instanceof Promise || own instanceof Promise) {
    return Promise.all([initial, own]).then(([initialBytes, loaded]) => finish(initialBytes, loaded));
  }
  return finish(initial, own);
}

/** All entries as clients see them. */
export async function allEntries(
  bodies: Bodies,
  entries: readonly Entry[],
): Promise<readonly { readonly messageId: string; readonly body: string; readonly callType: string }[]> {
  const loaded = await loadAll(bodies, entries);
  return entries.map(({ sequence, nonce, envelope }, index) => ({
    messageId: messageId(sequence, nonce),
    body: (loaded[index] ?? NO_BYTES).toString("base64"),
    callType: envelope.fields.workflow?.callType ?? "step",
  }));
}

function entriesUpTo({ entries }: Run, sequence: number): readonly Entry[] {
  // Mostly it is one of the last.
  const index = entries.findLastIndex((entry) => entry.sequence === sequence);
  return index === entries.length - 1 ? entries : entries.slice(0, index + 1);
}

function listBytes(entries: readonly Entry[]): number {
  let bytes = 2;
  for (const { body } of entries) bytes += Math.ceil(body.length / 3) * 4 + ENTRY_BYTES;
  return bytes;
}

function loadAll(bodies: Bodies, entries: readonly Entry[]): readonly Buffer[] | Promise<readonly Buffer[]> {
  const loaded = entries.map(({ body }) => bodies.load(body));
  return loaded.every((bytes): bytes is Buffer => bytes instanceof Buffer) ? loaded : Promise.all(loaded);
}

function loadOne(bodies: Bodies, { body }: Message): readonly Buffer[] | Promise<readonly Buffer[]> {
  const bytes = bodies.load(body);
  return bytes instanceof Promise ? bytes.then((late) => [late]) : [bytes];
}

function listOf(entries: readonly Entry[], loaded: readonly Buffer[]): Buffer {
  const parts = entries.map(({ sequence, nonce, envelope }, index) => {
    const callType = envelope.fields.workflow?.callType ?? "step";
    const body = (loaded[index] ?? NO_BYTES).toString("base64");
    return `{"messageId":"${messageId(sequence, nonce)}","body":"${body}","callType":"${callType}"}`;
  });
  return Buffer.from(`[${parts.join(",")}]`, "latin1");
}

const NO_BYTES = Buffer.alloc(0);
