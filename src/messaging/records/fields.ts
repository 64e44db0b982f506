/**
 * Writes and reads the fields that several kinds of records have. Fields that are
 * read rarely are one JSON text. The others are varints.
 *
 *     new body       checksum | bytes                      always the last field of its record
 *     stored body    segment > 0 | offset | length | checksum
 *                    segment = 0 | checksum | bytes        a body that is only in the snapshot
 */
import { assert } from "../../kernel/assert.ts";
import { bytesFromText, textFromBytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { Body } from "../bodies/body.ts";
import { Envelope, type Envelopes } from "../options/envelope.ts";
import type { DeadLetterId, ResponseFacts } from "../state/dead-letters.ts";
import type { MessageFacts } from "../state/message.ts";

export function writeText(frame: FrameWriter, text: string): void {
  frame.bytes(bytesFromText(text));
}

export function readText(reader: FrameReader): string {
  return textFromBytes(reader.bytes());
}

export function writeJson(frame: FrameWriter, value: unknown): void {
  writeText(frame, JSON.stringify(value));
}

/** Reads JSON that `writeJson` wrote. */
export function readJson<Value>(reader: FrameReader): Value {
  return parseJsonText(readText(reader)) as Value;
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

/** A shared envelope that counts this use already, or the text of an envelope that was read. */
export type EnvelopeField = Envelope | EnvelopeText;

export interface EnvelopeText {
  readonly text: string;
}

export function writeEnvelope(frame: FrameWriter, field: EnvelopeField): void {
  if (field instanceof Envelope) frame.bytes(field.bytes);
  else writeText(frame, field.text);
}

export function readEnvelope(reader: FrameReader): EnvelopeText {
  return { text: readText(reader) };
}

/** The shared envelope, with this use counted. */
export function sharedEnvelope(envelopes: Envelopes, field: EnvelopeField): Envelope {
  return field instanceof Envelope ? field : envelopes.shareText(field.text);
}

/** A body in a record: a new one with its bytes in memory, or the fields that were read. */
export type BodyField = Body | BodyRead;

export interface BodyRead {
  readonly checksum: number;
  /** A view of the frame: copy it to store it. */
  readonly bytes: Buffer;
  /** In the frame. */
  readonly offset: number;
}

export function writeBody(frame: FrameWriter, { checksum, bytes }: Pick<BodyField, "checksum" | "bytes">): void {
  assert(bytes !== undefined, "a body that is written is in memory");
  frame.number(checksum).buffer(bytes);
}

export function readBody(reader: FrameReader): BodyRead {
  const checksum = reader.number();
  const bytes = reader.buffer();
  return { checksum, bytes, offset: reader.offset - bytes.length };
}

/** A body in a snapshot: its location, or its bytes. */
export type StoredBody =
  | { readonly segment: number; readonly offset: number; readonly length: number; readonly checksum: number }
  | BodyRead;

/** In place of bodies that are elsewhere in the snapshot. */
export const EMPTY_BODY = Body.of(Buffer.alloc(0), false);

export function storedBody(body: Body): StoredBody {
  // The body of an ended run is not read any more.
  const { segment, offset, length, checksum, bytes } = body.isWanted ? body : EMPTY_BODY;
  if (segment > 0) return { segment, offset, length, checksum };
  return { checksum, bytes: bytes ?? Buffer.alloc(0), offset: 0 };
}

export function writeStoredBody(frame: FrameWriter, body: StoredBody): void {
  if ("segment" in body) frame.number(body.segment).number(body.offset).number(body.length).number(body.checksum);
  else writeBody(frame.number(0), body);
}

export function readStoredBody(reader: FrameReader): StoredBody {
  const segment = reader.number();
  if (segment === 0) return readBody(reader);
  return { segment, offset: reader.number(), length: reader.number(), checksum: reader.number() };
}

export function writeResponse(frame: FrameWriter, { status, headers, error }: ResponseFacts): void {
  frame.number(status);
  writeJson(frame, headers);
  writeText(frame, error);
}

export function readResponse(reader: FrameReader): ResponseFacts {
  return { status: reader.number(), headers: readJson<string[]>(reader), error: readText(reader) };
}

export function writeDeadLetterId(frame: FrameWriter, { ms, number }: DeadLetterId): void {
  frame.time(ms).number(number);
}

export function readDeadLetterId(reader: FrameReader): DeadLetterId {
  return { ms: reader.time(), number: reader.number() };
}
