/**
 * The records of messaging in the journal: their numbers, and how their fields
 * are written and read. A number means the same for ever. `changes.ts` writes
 * them while things happen, `replay.ts` and `history-events.ts` read them,
 * `dump.ts` writes those of a snapshot.
 *
 * Fields that are read rarely are one JSON text. Varint fields hold the rest.
 */

import { bytesFromText, textFromBytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Body } from "../bodies/body.ts";
import type { DeadLetterId, ResponseFacts } from "../state/dead-letters.ts";
import type { MessageFacts } from "../state/message.ts";

/** Records of the area itself stand under the tenant number 0. */
export const AREA = 0;

export const code = {
  // Of the area.
  userCreated: 1,
  userDropped: 2,
  /** Snapshots: the numbers that were given out last. */
  numbersGiven: 3,
  // Of messages.
  messageAccepted: 10,
  /** Snapshots. */
  messageKept: 11,
  attemptStarted: 12,
  delivered: 13,
  retryPlanned: 14,
  failed: 15,
  cancelRequested: 16,
  cancelled: 17,
  deadLetterRemoved: 18,
  /** Snapshots. */
  deadLetterKept: 19,
  /** Snapshots. */
  deduplicationKept: 20,
  bodyMoved: 21,
  /** Snapshots: messages of the day, the last id of a dead letter. */
  countersKept: 22,
  // Of what a user has.
  queuePut: 30,
  queueRemoved: 31,
  schedulePut: 32,
  scheduleRemoved: 33,
  scheduleChanged: 34,
  groupPut: 35,
  groupRemoved: 36,
  flowKeyPut: 37,
  signingKeysPut: 38,
  flowKeyRemoved: 39,
  // Of workflow runs.
  runCreated: 50,
  /** Another first entry and other settings, in the place of those it began with. */
  runRestarted: 51,
  runEnded: 52,
  runForgotten: 53,
  /** An entry of another run that counts as delivered. */
  entryCopied: 54,
  /** A message that ends without a dead letter: the run has it, or goes on. */
  failedInRun: 55,
  waiterAdded: 56,
  waiterRemoved: 57,
  eventSaved: 58,
  eventTaken: 59,
  failureFunctionPut: 60,
  /** Snapshots. */
  runKept: 61,
  /** Snapshots: of the run kept last. */
  entryKept: 62,
  /** The same as `failureFunctionPut`, with what its call was answered. */
  failureFunctionAnswered: 63,
  /** Snapshots: of the run kept last. */
  failureAnswerKept: 64,
} as const;

export function writeText(frame: FrameWriter, text: string): void {
  frame.bytes(bytesFromText(text));
}

export function readText(reader: FrameReader): string {
  return textFromBytes(reader.bytes());
}

export function writeJson(frame: FrameWriter, value: unknown): void {
  writeText(frame, JSON.stringify(value));
}

/** A record's own JSON, which we wrote ourselves. */
export function readJson<Value>(reader: FrameReader): Value {
  return JSON.parse(readText(reader)) as Value;
}

export function writeMessageFacts(frame: FrameWriter, facts: MessageFacts): void {
  frame
    .number(facts.sequence)
    .number(facts.nonce)
    .time(facts.createdAtMs)
    .time(facts.notBeforeMs)
    .number(facts.slotOwner);
}

export function readMessageFacts(reader: FrameReader): MessageFacts {
  return {
    sequence: reader.number(),
    nonce: reader.number(),
    createdAtMs: reader.time(),
    notBeforeMs: reader.time(),
    slotOwner: reader.number(),
  };
}

/** Bytes with their checksum. Returns where they begin in the frame. */
export function writeBody(frame: FrameWriter, body: Body, bytes: Buffer): number {
  frame.number(body.checksum).buffer(bytes);
  return frame.byteCount - bytes.length;
}

export interface BodyRead {
  readonly checksum: number;
  /** Valid as long as the frame: copy what is kept. */
  readonly bytes: Buffer;
  /** In the frame. */
  readonly offset: number;
}

export function readBody(reader: FrameReader): BodyRead {
  const checksum = reader.number();
  const bytes = reader.buffer();
  return { checksum, bytes, offset: reader.offset - bytes.length };
}

export function writeResponse(frame: FrameWriter, { status, headers, error }: ResponseFacts): void {
  frame.number(status);
  writeJson(frame, headers);
  writeText(frame, error);
}

export function readResponse(reader: FrameReader): ResponseFacts {
  return { status: reader.number(), headers: readJson<string[]>(reader), error: readText(reader) };
}

export function writeLetterId(frame: FrameWriter, { ms, number }: DeadLetterId): void {
  frame.time(ms).number(number);
}

export function readLetterId(reader: FrameReader): DeadLetterId {
  return { ms: reader.time(), number: reader.number() };
}

/** What a body that was moved belongs to. */
export const bodyOwner = { message: 0, deadLetter: 1, response: 2, entry: 3, runResult: 4, failureAnswer: 5 } as const;
