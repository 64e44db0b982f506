/**
 * The engine refuses a request with a `VectorFailure`, and nothing has changed.
 * `edge/` turns the kind into a status. The text names the invalid field.
 */

export type VectorFailureKind =
  | "unprocessable"
  | "not found"
  | "conflict"
  | "too many requests"
  | "not implemented"
  | "bad gateway"
  | "unavailable";

/** An answer, not a bug, so it has no stack. */
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
