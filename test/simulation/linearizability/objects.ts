/** The objects of operations, as one client alone would see them. */
import type { Input, Operation, Output } from "./operations.ts";

/** A state is a value that `===` compares: two equal states are the same value. */
export type State = string | number | ListState | null;

export interface Applied {
  readonly state: State;
  readonly output: Output;
}

/** A list, which is the list before it and one element. There is one object for each list: `listOf`. */
export class ListState {
  readonly before: ListState | undefined;
  readonly value: string;
  readonly length: number;
  readonly #after = new Map<string, ListState>();

  constructor(before: ListState | undefined, value: string) {
    this.before = before;
    this.value = value;
    this.length = before === undefined ? 0 : before.length + 1;
  }

  with(value: string): ListState {
    let after = this.#after.get(value);
    if (after === undefined) {
      after = new ListState(this, value);
      this.#after.set(value, after);
    }
    return after;
  }

  get elements(): readonly string[] {
    const elements: string[] = [];
    for (let list: ListState = this; list.before !== undefined; list = list.before) elements.push(list.value);
    return elements.reverse();
  }
}

/** The state of a key that does not exist. */
export function initialState(object: Input["object"]): State {
  switch (object) {
    case "register":
      return null;
    case "counter":
      return 0;
    case "list":
      return new ListState(undefined, "");
    default: {
      const never: never = object;
      throw new Error(`Unknown object: ${String(never)}`);
    }
  }
}

/** Carries out an operation. */
export function applied(state: State, input: Input): Applied {
  if (input.object === "list") {
    const list = state as ListState;
    if (input.name === "LRANGE") return { state, output: list.elements };
    const longer = list.with(input.value);
    return { state: longer, output: longer.length };
  }
  if (input.name === "SET") return { state: input.value, output: "OK" };
  if (input.name === "INCR") return { state: (state as number) + 1, output: (state as number) + 1 };
  return { state, output: state as string | number | null };
}

/**
 * Whether an operation without a reply can matter to one that comes next: `next` are those with replies that may. If it
 * matters to none of them, an order with it can do without it here.
 */
export function mayMatter(state: State, input: Input, next: readonly Operation[]): boolean {
  return next.some(({ input: other, reply }) => {
    const output = reply?.output;
    switch (input.object) {
      case "register":
        // A value that is overwritten before it is read was never there.
        return input.name === "SET" && other.name === "GET" && output === input.value;
      case "counter": {
        const more = other.name === "INCR" ? 2 : 1;
        return input.name === "INCR" && (output as number) >= (state as number) + more;
      }
      case "list": {
        if (input.name === "LRANGE") return false;
        const { length } = state as ListState;
        return Array.isArray(output) ? output[length] === input.value : (output as number) >= length + 2;
      }
      default: {
        const never: never = input;
        throw new Error(`Unknown object: ${String(never)}`);
      }
    }
  });
}

/**
 * The states that an object may have had: a list was, and will be, the beginning of the longest one that was read, or it
 * begins with that.
 */
export function possibleStates(operations: readonly Operation[]): (state: State) => boolean {
  let longest: readonly string[] = [];
  for (const { reply } of operations) {
    const output = reply?.output;
    if (Array.isArray(output) && output.length > longest.length) longest = output;
  }
  // Each list is longer than one that was possible, so only its last element is new.
  return (state) => !(state instanceof ListState) || state.length > longest.length || isLast(state, longest);
}

function isLast(list: ListState, elements: readonly string[]): boolean {
  return list.length === 0 || elements[list.length - 1] === list.value;
}
