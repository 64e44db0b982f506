/** The record of a body that was written again, so that its old segment can be removed (bodies/cleaning.ts). */
import { assert } from "../../kernel/assert.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Body } from "../bodies/body.ts";
import { type DeadLetterId, deadLetterIdText } from "../state/dead-letters.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import {
  type BodyField,
  readBody,
  readDeadLetterId,
  readText,
  writeBody,
  writeDeadLetterId,
  writeText,
} from "./fields.ts";
import { NO_EVENT, type RecordRows } from "./row.ts";

/** The owner of a body. `index` is that of an entry in its run, otherwise 0. */
export type BodyOwner =
  | { readonly kind: "message"; readonly sequence: number }
  | { readonly kind: "deadLetter" | "response"; readonly id: DeadLetterId }
  | { readonly kind: RunBodyKind; readonly runId: string; readonly index: number };

export type RunBodyKind = "entry" | "runResult" | "failureAnswer";

/** By their numbers in journals. */
const ownerKinds = ["message", "deadLetter", "response", "entry", "runResult", "failureAnswer"] as const;

export interface BodyKinds {
  bodyMoved(fields: { readonly owner: BodyOwner; readonly body: Pick<BodyField, "checksum" | "bytes"> }): void;
}

export const bodyRecords: RecordRows<User, BodyKinds> = {
  bodyMoved: {
    code: 21,
    write(frame, { owner, body }) {
      writeOwner(frame, owner);
      writeBody(frame, body);
    },
    read: (reader) => ({ owner: readOwner(reader), body: readBody(reader) }),
    apply: ({ state, user, bodies }, { owner, body }) => bodies.move(bodyOf(state, user, owner), body),
    event: NO_EVENT,
  },
};

function writeOwner(frame: FrameWriter, owner: BodyOwner): void {
  frame.number(ownerKinds.indexOf(owner.kind));
  switch (owner.kind) {
    case "message":
      frame.number(owner.sequence);
      return;
    case "deadLetter":
    case "response":
      writeDeadLetterId(frame, owner.id);
      return;
    case "entry":
    case "runResult":
    case "failureAnswer":
      writeText(frame, owner.runId);
      frame.number(owner.index);
      return;
    default: {
      const never: never = owner;
      throw never;
    }
  }
}

function readOwner(reader: FrameReader): BodyOwner {
  const kind = ownerKinds[reader.number()];
  assert(kind !== undefined, "the owner of a body that was moved is known to this version");
  if (kind === "message") return { kind, sequence: reader.number() };
  if (kind === "deadLetter" || kind === "response") return { kind, id: readDeadLetterId(reader) };
  return { kind, runId: readText(reader), index: reader.number() };
}

function bodyOf(state: MessagingState, user: User, owner: BodyOwner): Body {
  if (owner.kind === "message") return state.messageOf(owner.sequence).body;
  const body = "id" in owner ? deadLetterBody(user, owner) : runBody(state, user, owner);
  assert(body !== undefined, "a body that is moved has its owner");
  return body;
}

function deadLetterBody(user: User, { kind, id }: Extract<BodyOwner, { id: DeadLetterId }>): Body | undefined {
  const deadLetter = user.deadLetters.get(deadLetterIdText(id));
  return kind === "deadLetter" ? deadLetter?.body : deadLetter?.responseBody;
}

function runBody(
  state: MessagingState,
  user: User,
  { kind, runId, index }: Extract<BodyOwner, { runId: string }>,
): Body | undefined {
  const run = state.runOf(user, runId);
  if (kind === "entry") return run.entries[index]?.body;
  return kind === "runResult" ? run.result : run.failureAnswer;
}
