/**
 * How the engine refuses a request. `edge/` turns the kind into a status. The
 * text names the field that is at fault, and nothing has changed.
 */

export type MessagingFailureKind = "bad request" | "not found" | "quota exceeded" | "not implemented" | "unavailable";

/** An answer, not a fault of ours: it carries no stack. */
export class MessagingFailure {
  readonly kind: MessagingFailureKind;
  readonly text: string;

  constructor(kind: MessagingFailureKind, text: string) {
    this.kind = kind;
    this.text = text;
  }
}

export function badRequest(text: string): MessagingFailure {
  return new MessagingFailure("bad request", text);
}

export function notFound(text: string): MessagingFailure {
  return new MessagingFailure("not found", text);
}

export function quotaExceeded(text: string): MessagingFailure {
  return new MessagingFailure("quota exceeded", text);
}
