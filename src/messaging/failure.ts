/**
 * Refusals of a request. `edge/` turns the kind into a status. The text names
 * the invalid field; a refused request has changed nothing.
 */

export type MessagingFailureKind =
  | "bad request"
  | "not found"
  | "quota exceeded"
  | "too many requests"
  | "not implemented"
  | "unavailable";

/** An answer to the caller and not a bug: it carries no stack. */
export class MessagingFailure {
  readonly kind: MessagingFailureKind;
  readonly text: string;
  /** The refused one of several requests, from 0. */
  readonly index: number | undefined;

  constructor(kind: MessagingFailureKind, text: string, index?: number) {
    this.kind = kind;
    this.text = text;
    this.index = index;
  }
}

export function badRequest(text: string): MessagingFailure {
  return new MessagingFailure("bad request", text);
}

/** Runs `read`, which reads a field of a body. A `MessagingFailure` that it throws then names the field as well. */
export function inField<Result>(field: string, read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof MessagingFailure)) throw thrown;
    throw new MessagingFailure(thrown.kind, `In ${field}: ${thrown.text}`);
  }
}

export function notFound(text: string): MessagingFailure {
  return new MessagingFailure("not found", text);
}

/** A dead letter that cannot be sent again because part of it is damaged on the disk. */
export function damagedDeadLetter(id: string): MessagingFailure {
  return badRequest(
    `Invalid value for dlqId: the data of the dead letter ${id} is damaged on the disk of the server: delete it and publish the message again`,
  );
}

export function quotaExceeded(text: string): MessagingFailure {
  return new MessagingFailure("quota exceeded", text);
}

/** A user has reached its limit of messages per day. */
export class DailyLimitExceeded extends MessagingFailure {
  readonly messagesPerDayMax: number;
  /** When the next day begins. */
  readonly resetAtMs: number;

  constructor(messagesPerDayMax: number, resetAtMs: number) {
    super("too many requests", `Maximum number of messages per day exceeded: ${messagesPerDayMax}`);
    this.messagesPerDayMax = messagesPerDayMax;
    this.resetAtMs = resetAtMs;
  }
}
