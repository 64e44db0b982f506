/**
 * What clients did and saw: operations on keys, each from its call to its reply.
 *
 *     calls and replies are numbered in the order in which they happened
 *     no reply    the end is unknown: it took effect at some time after the call, or never
 */

/** The reply to an operation, as JSON compares it: the number of a counter or of elements, a value, all elements. */
export type Output = string | number | null | readonly string[];

export type Input =
  | { readonly object: "register"; readonly name: "SET"; readonly value: string }
  | { readonly object: "register"; readonly name: "GET" }
  | { readonly object: "counter"; readonly name: "INCR" }
  | { readonly object: "counter"; readonly name: "GET" }
  | { readonly object: "list"; readonly name: "RPUSH"; readonly value: string }
  | { readonly object: "list"; readonly name: "LRANGE" };

export interface Operation {
  readonly key: string;
  readonly input: Input;
  readonly calledAt: number;
  /** Absent: the end is unknown. */
  readonly reply?: { readonly at: number; readonly output: Output };
}

/** An operation whose reply may still come. */
interface OpenOperation extends Operation {
  reply?: NonNullable<Operation["reply"]>;
}

/** Notes operations while they happen. */
export class OperationLog {
  readonly #operations: OpenOperation[] = [];
  #events = 0;

  get operations(): readonly Operation[] {
    return this.#operations;
  }

  /** A client calls. The returned function notes the reply; the end of a call without one is unknown. */
  call(key: string, input: Input): (output: Output) => void {
    const operation: OpenOperation = { key, input, calledAt: this.#next() };
    this.#operations.push(operation);
    return (output) => {
      operation.reply = { at: this.#next(), output };
    };
  }

  #next(): number {
    this.#events += 1;
    return this.#events;
  }
}

/** One line for a person. */
export function textOf({ key, input, calledAt, reply }: Operation): string {
  const value = "value" in input ? ` ${input.value}` : "";
  const end = reply === undefined ? "no reply" : `${JSON.stringify(reply.output)} at ${reply.at}`;
  return `${input.name} ${key}${value}, called at ${calledAt}: ${end}`;
}
