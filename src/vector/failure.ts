/**
 * How the engine refuses a request. `edge/` turns the kind into a status. The
 * text names the field that is at fault, and nothing has changed.
 */

export type VectorFailureKind =
  | "unprocessable"
  | "not found"
  | "conflict"
  | "too many requests"
  | "not implemented"
  | "bad gateway"
  | "unavailable";

/** An answer, not a fault of ours: it carries no stack. */
export class VectorFailure {
  readonly kind: VectorFailureKind;
  readonly text: string;

  constructor(kind: VectorFailureKind, text: string) {
    this.kind = kind;
    this.text = text;
  }
}

export function unprocessable(text: string): VectorFailure {
  return new VectorFailure("unprocessable", text);
}

export function notFound(text: string): VectorFailure {
  return new VectorFailure("not found", text);
}
