/**
 * Patterns of `$regex`: they match whole tokens, and ignore the case. The language is that of the filters of JSON paths
 * (`json/pattern.ts`), like RE2's: classes, groups, alternation, counted repetition, `.`, anchors, \d \w \s for ASCII
 * and \p{…}. It has no look-around, back-references and word boundaries, which no automaton of bounded size has.
 *
 * A search reads tokens with a deterministic automaton whose states are made when they are first reached, so a common
 * beginning of many tokens is read once, and a code point mostly takes one look-up.
 */
import { type Bytes, textFromBytes } from "../../../kernel/bytes.ts";
import { compilePattern, type Pattern, PatternFailure } from "../../json/pattern.ts";
import type { Spend, TokenPattern } from "./index-reader.ts";
import { INVALID } from "./terms/code-points.ts";
import { matchesToken, type PrefixAutomaton, type Verdict } from "./terms/term-walk.ts";

const PATTERN_BYTES_MAX = 1_024;

/** States that a search keeps; more are made again each time. */
const STATES_KEPT_MAX = 1_000;
/** States of the program in all kept states together. */
const MEMBERS_KEPT_MAX = 200_000;
/** Transitions by code points above ASCII that a state keeps. */
const OTHER_KEPT_MAX = 256;

const ASCII_COUNT = 128;

/** The state of a program after a complete match (`json/pattern.ts`). */
const DONE = 0;

/** The fault of a pattern: `reason` is a part of a sentence, such as "unclosed (". */
export class TokenPatternFault {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Compiles a pattern in UTF-8. Throws a `TokenPatternFault`. */
export function compileTokenPattern(text: Bytes): TokenPattern {
  if (text.length > PATTERN_BYTES_MAX) throw new TokenPatternFault(`longer than ${PATTERN_BYTES_MAX} bytes`);
  const pattern = withPlainGroups(textFromBytes(text));
  try {
    return new CompiledTokenPattern(compilePattern(`${IGNORES_CASE}${pattern}`));
  } catch (error) {
    if (error instanceof PatternFailure) throw new TokenPatternFault(error.reason);
    throw error;
  }
}

export class CompiledTokenPattern implements TokenPattern {
  readonly #pattern: Pattern;

  constructor(pattern: Pattern) {
    this.#pattern = pattern;
  }

  matches(token: Bytes, spend: Spend): boolean {
    return matchesToken(this.automaton(spend), token, spend);
  }

  /** An automaton for one search. */
  automaton(spend: Spend): PrefixAutomaton {
    return new PatternAutomaton(this.#pattern, spend);
  }
}

const IGNORES_CASE = "(?i)";

/** The pattern without names of groups and a leading (?i). Throws if it uses what automata do not have. */
function withPlainGroups(text: string): string {
  let plain = "";
  let isInClass = false;
  for (let at = text.startsWith(IGNORES_CASE) ? IGNORES_CASE.length : 0; at < text.length; at += 1) {
    const rest = text.slice(at, at + 4);
    const character = rest.charAt(0);
    if (character === "\\") {
      if (/^\\(?:[1-9]|k<)/.test(rest)) throw new TokenPatternFault("back-references are not supported");
      if (!isInClass && /^\\[bB]/.test(rest)) throw new TokenPatternFault("word boundaries are not supported");
      plain += rest.slice(0, 2);
      at += 1;
    } else if (isInClass) {
      plain += character;
      if (character === "]") isInClass = false;
    } else if (/^\(\?<?[=!]/.test(rest)) throw new TokenPatternFault("look-around is not supported");
    else if (/^\(\?P?</.test(rest)) {
      const name = /^\(\?P?<[A-Za-z_][A-Za-z0-9_]*>/.exec(text.slice(at));
      if (name === null) throw new TokenPatternFault("invalid name of a group");
      plain += "(";
      at += name[0].length - 1;
    } else {
      plain += character;
      if (character === "[") {
        isInClass = true;
        // A class may begin with the bracket that would end it, which is an error of its own.
        if (text.startsWith("^", at + 1)) {
          plain += "^";
          at += 1;
        }
      }
    }
  }
  return plain;
}

interface State {
  /** States of the program, in rising order. */
  readonly members: readonly number[];
  readonly isMatch: boolean;
  /** By ASCII character, the next state. */
  next: (State | undefined)[];
  /** The same for other code points. */
  others: Map<number, State> | undefined;
}

class PatternAutomaton implements PrefixAutomaton {
  readonly readSteps = 2;
  readonly #pattern: Pattern;
  readonly #spend: Spend;
  readonly #kept = new Map<string, State>();
  #membersKept = 0;
  /** By depth. */
  readonly #path: State[] = [];
  /** By state of the program, the number of the set that it is in. */
  readonly #seenIn: Uint32Array;
  #setNumber = 0;

  constructor(pattern: Pattern, spend: Spend) {
    this.#pattern = pattern;
    this.#spend = spend;
    this.#seenIn = new Uint32Array(pattern.states.length);
  }

  begin(): Verdict {
    this.#path.length = 0;
    this.#setNumber += 1;
    const members: number[] = [];
    this.#follow(this.#pattern.first, { members, isStart: true });
    const state = this.#stateOf(members);
    this.#path.push(state);
    return verdictOf(state);
  }

  read(depth: number, code: number): Verdict {
    const state = this.#path[depth] as State;
    const next = code < ASCII_COUNT ? state.next[code] : state.others?.get(code);
    const reached = next ?? this.#advance(state, code);
    this.#path[depth + 1] = reached;
    return verdictOf(reached);
  }

  isMatch(depth: number): boolean {
    return (this.#path[depth] as State).isMatch;
  }

  #advance(state: State, code: number): State {
    const { states, testSteps } = this.#pattern;
    this.#spend(10 + state.members.length * testSteps * 5);
    const character = String.fromCodePoint(code < INVALID ? code : 0xfffd).toLowerCase();
    const members: number[] = [];
    this.#setNumber += 1;
    for (const number of state.members) {
      const member = states[number];
      if (member?.kind === "take" && member.test(character)) this.#follow(member.next, { members, isStart: false });
    }
    const next = this.#stateOf(members);
    if (code < ASCII_COUNT) {
      if (state.next.length === 0) state.next = new Array<State | undefined>(ASCII_COUNT).fill(undefined);
      state.next[code] = next;
    } else {
      state.others ??= new Map();
      if (state.others.size < OTHER_KEPT_MAX) state.others.set(code, next);
    }
    return next;
  }

  /** Adds a state of the program and all that it reaches without a character; `end` stays, as a match at the end. */
  #follow(from: number, { members, isStart }: { readonly members: number[]; readonly isStart: boolean }): void {
    const { states } = this.#pattern;
    const open = [from];
    for (let number = open.pop(); number !== undefined; number = open.pop()) {
      if (this.#seenIn[number] === this.#setNumber) continue;
      this.#seenIn[number] = this.#setNumber;
      const state = states[number];
      if (state?.kind === "fork") open.push(state.next, state.other);
      else if (state?.kind === "start") {
        if (isStart) open.push(state.next);
      } else members.push(number);
    }
  }

  #stateOf(members: number[]): State {
    members.sort((one, other) => one - other);
    const name = members.join(" ");
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const state: State = { members, isMatch: this.#endsMatch(members), next: [], others: undefined };
    if (this.#kept.size >= STATES_KEPT_MAX || this.#membersKept + members.length > MEMBERS_KEPT_MAX) this.#forget();
    this.#kept.set(name, state);
    this.#membersKept += members.length;
    return state;
  }

  /** Drops all states but those of the path, and what they lead to. */
  #forget(): void {
    for (const state of this.#kept.values()) {
      state.next = [];
      state.others = undefined;
    }
    this.#kept.clear();
    this.#membersKept = 0;
  }

  /** Whether a token that ends here matches: a `$` is passed then. */
  #endsMatch(members: readonly number[]): boolean {
    const { states } = this.#pattern;
    const seen = new Set<number>();
    const open = members.filter((number) => number === DONE || states[number]?.kind === "end");
    for (let number = open.pop(); number !== undefined; number = open.pop()) {
      if (number === DONE) return true;
      if (seen.has(number)) continue;
      seen.add(number);
      const state = states[number];
      if (state?.kind === "fork") open.push(state.next, state.other);
      else if (state?.kind === "end") open.push(state.next);
    }
    return false;
  }
}

function verdictOf(state: State): Verdict {
  return state.members.length === 0 ? "refused" : "open";
}
