/**
 * Regular expressions of filters, matched in linear time (threats A-08): a
 * pattern becomes a small program, and a text advances all its states at once,
 * so no match takes longer than states times characters.
 *
 * The language is I-Regexp (RFC 9485), which match() and search() use, and the
 * usual additions in =~: anchors, \d \w \s, (?:…) and a leading (?i). It has no
 * back references and no look-around, which no linear matcher has.
 */

/** A longer program is not a reasonable filter. Counted repetition multiplies. */
const STATES_MAX = 2_000;
/** Parts of a program, including those that become no state. */
const PIECES_MAX = 20_000;
const GROUP_DEPTH_MAX = 64;
/** The largest count in {n,m}. */
const REPEAT_MAX = 1_000;

/** The state after a complete match. */
const DONE = 0;

type CharacterTest = (character: string) => boolean;

type State =
  | { readonly kind: "take"; readonly test: CharacterTest; next: number }
  | { readonly kind: "fork"; next: number; other: number }
  | { readonly kind: "start" | "end"; next: number }
  | { readonly kind: "done" };

export interface Pattern {
  readonly states: readonly State[];
  readonly first: number;
  readonly ignoresCase: boolean;
  /** Steps of one test of a character. */
  readonly testSteps: number;
}

/** The fault of a pattern. */
export class PatternFailure {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

type Piece =
  | { readonly kind: "character"; readonly test: CharacterTest }
  | { readonly kind: "anchor"; readonly at: "start" | "end" }
  | { readonly kind: "all" | "any"; readonly pieces: readonly Piece[] }
  | { readonly kind: "repeat"; readonly piece: Piece; readonly least: number; readonly most: number };

/** Throws a `PatternFailure`. */
export function compilePattern(text: string): Pattern {
  const ignoresCase = text.startsWith("(?i)");
  const reader = new PatternReader(ignoresCase ? text.slice(4) : text, ignoresCase);
  const piece = reader.alternatives(0);
  if (!reader.isAtEnd) throw new PatternFailure("unmatched )");
  const emitter = new Emitter();
  const first = emitter.emit(piece, DONE);
  // Parts of a class are simple: several together are one step.
  const testSteps = 1 + (reader.classPartsMax >>> 3);
  return { states: emitter.states, first, ignoresCase, testSteps };
}

/** Whether the pattern matches the text, or a part of it. `spend` is called with the steps and may throw. */
export function matches(
  { states, first, ignoresCase, testSteps }: Pattern,
  given: string,
  options: { readonly isWhole: boolean; readonly spend: (steps: number) => void },
): boolean {
  const text = Array.from(ignoresCase ? given.toLowerCase() : given);
  /** The list that a state is in: those of the current character have its index plus one. */
  const seenAt = new Int32Array(states.length);
  let active: number[] = [];
  for (let place = 0; place <= text.length; place += 1) {
    if (place === 0 || !options.isWhole) follow(first, place);
    if (active.includes(DONE) && (!options.isWhole || place === text.length)) return true;
    if (place === text.length || (active.length === 0 && options.isWhole)) return false;
    const taken = active;
    active = [];
    options.spend(1 + taken.length * testSteps);
    for (const number of taken) {
      const state = states[number] as State;
      if (state.kind === "take" && state.test(text[place] as string)) follow(state.next, place + 1);
    }
  }
  return false;

  /** Adds a state and all states that it reaches without a character. */
  function follow(from: number, place: number): void {
    const open = [from];
    for (let number = open.pop(); number !== undefined; number = open.pop()) {
      if (seenAt[number] === place + 1) continue;
      seenAt[number] = place + 1;
      const state = states[number] as State;
      if (state.kind === "fork") open.push(state.next, state.other);
      else if (state.kind === "start") {
        if (place === 0) open.push(state.next);
      } else if (state.kind === "end") {
        if (place === text.length) open.push(state.next);
      } else active.push(number);
    }
  }
}

/** Creates the states of pieces, from the last to the first. */
class Emitter {
  readonly states: State[] = [{ kind: "done" }];
  #pieceCount = 0;

  /** Adds the states of a piece that continues at `next`; returns its first state. */
  emit(piece: Piece, next: number): number {
    // A piece without characters adds no state, regardless of its repetition.
    this.#pieceCount += 1;
    if (this.#pieceCount > PIECES_MAX) throw new PatternFailure("too long");
    switch (piece.kind) {
      case "character":
        return this.#add({ kind: "take", test: piece.test, next });
      case "anchor":
        return this.#add({ kind: piece.at, next });
      case "all":
        return piece.pieces.reduceRight((after, one) => this.emit(one, after), next);
      case "any":
        return piece.pieces
          .map((one) => this.emit(one, next))
          .reduceRight((other, one) => this.#add({ kind: "fork", next: one, other }));
      case "repeat":
        return this.#emitRepeat(piece, next);
    }
  }

  #emitRepeat({ piece, least, most }: Extract<Piece, { kind: "repeat" }>, next: number): number {
    let after = next;
    if (most === Number.POSITIVE_INFINITY) {
      const loop: State = { kind: "fork", next, other: next };
      after = this.#add(loop);
      loop.next = this.emit(piece, after);
    } else {
      for (let i = least; i < most; i += 1)
        after = this.#add({ kind: "fork", next: this.emit(piece, after), other: next });
    }
    for (let i = 0; i < least; i += 1) after = this.emit(piece, after);
    return after;
  }

  #add(state: State): number {
    if (this.states.length >= STATES_MAX) throw new PatternFailure("too long");
    this.states.push(state);
    return this.states.length - 1;
  }
}

class PatternReader {
  readonly #text: readonly string[];
  readonly #ignoresCase: boolean;
  #at = 0;
  /** Number of parts of the longest class so far. */
  classPartsMax = 0;

  constructor(text: string, ignoresCase: boolean) {
    this.#text = Array.from(text);
    this.#ignoresCase = ignoresCase;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Up to the end or an unmatched `)`. */
  alternatives(depth: number): Piece {
    if (depth > GROUP_DEPTH_MAX) throw new PatternFailure("groups too deep");
    const branches = [this.#branch(depth)];
    while (this.#take("|")) branches.push(this.#branch(depth));
    return branches.length === 1 ? (branches[0] as Piece) : { kind: "any", pieces: branches };
  }

  #branch(depth: number): Piece {
    const pieces: Piece[] = [];
    while (!this.isAtEnd && this.#next !== "|" && this.#next !== ")") pieces.push(this.#repeated(this.#atom(depth)));
    return { kind: "all", pieces };
  }

  #atom(depth: number): Piece {
    if (this.#take("(")) {
      if (this.#take("?") && !this.#take(":")) throw new PatternFailure("only (?: may follow (");
      const group = this.alternatives(depth + 1);
      if (!this.#take(")")) throw new PatternFailure("unclosed (");
      return group;
    }
    if (this.#take("^")) return { kind: "anchor", at: "start" };
    if (this.#take("$")) return { kind: "anchor", at: "end" };
    if (this.#take(".")) return { kind: "character", test: (character) => character !== "\n" && character !== "\r" };
    if (this.#take("[")) return { kind: "character", test: this.#characterClass() };
    if (this.#take("\\")) return { kind: "character", test: this.#escape() };
    if ("*+?{}]".includes(this.#next ?? "")) throw new PatternFailure(`${this.#next} without a character before it`);
    return { kind: "character", test: this.#same(this.#pass()) };
  }

  #repeated(piece: Piece): Piece {
    let repeated = piece;
    for (;;) {
      const bounds = this.#repeatBounds();
      if (bounds === undefined) return repeated;
      if (piece.kind === "anchor") throw new PatternFailure("an anchor cannot be repeated");
      if (repeated !== piece) throw new PatternFailure("a repetition cannot be repeated");
      // A lazy repetition matches the same texts.
      this.#take("?");
      repeated = { kind: "repeat", piece, ...bounds };
    }
  }

  #repeatBounds(): { least: number; most: number } | undefined {
    if (this.#take("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#take("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#take("?")) return { least: 0, most: 1 };
    if (!this.#take("{")) return undefined;
    const least = this.#count();
    if (least === undefined) throw new PatternFailure("expected a count after {");
    const most = this.#take(",") ? (this.#count() ?? Number.POSITIVE_INFINITY) : least;
    if (!this.#take("}")) throw new PatternFailure("unclosed {");
    if (most < least) throw new PatternFailure("counts in the wrong order");
    return { least, most };
  }

  #count(): number | undefined {
    let digits = "";
    while (/^[0-9]$/.test(this.#next ?? "")) digits += this.#pass();
    if (Number(digits) > REPEAT_MAX) throw new PatternFailure("count too large");
    return digits === "" ? undefined : Number(digits);
  }

  /** After `[`, up to its `]`. */
  #characterClass(): CharacterTest {
    const isNegated = this.#take("^");
    const tests: CharacterTest[] = [];
    for (let isFirst = true; isFirst || this.#next !== "]"; isFirst = false) {
      if (this.isAtEnd) throw new PatternFailure("open [");
      if (isFirst && this.#next === "]") throw new PatternFailure("empty class");
      tests.push(this.#classPart());
    }
    this.#pass();
    this.classPartsMax = Math.max(this.classPartsMax, tests.length);
    return (character) => tests.some((test) => test(character)) !== isNegated;
  }

  #classPart(): CharacterTest {
    const escaped = this.#take("\\");
    if (escaped && categoryLetters.has(this.#next ?? "")) return this.#escape();
    const first = escaped ? this.#escapedCharacter() : this.#pass();
    if (this.#next !== "-" || this.#text[this.#at + 1] === "]") return this.#same(first);
    this.#pass();
    const last = this.#take("\\") ? this.#escapedCharacter() : this.#pass();
    const [low, high] = [codeOf(first), codeOf(last)];
    if (high < low) throw new PatternFailure("range in the wrong order");
    const isInside: CharacterTest = (character) => codeOf(character) >= low && codeOf(character) <= high;
    return this.#ignoresCase ? (character) => isInside(character) || isInside(character.toUpperCase()) : isInside;
  }

  #escape(): CharacterTest {
    const letter = this.#next ?? "";
    if (letter === "p" || letter === "P") return this.#category();
    const named = namedClasses.get(letter);
    if (named === undefined) return this.#same(this.#escapedCharacter());
    this.#pass();
    return named;
  }

  /** `\p{Lu}`, or `\P{Lu}` for all others. */
  #category(): CharacterTest {
    const isNegated = this.#pass() === "P";
    if (!this.#take("{")) throw new PatternFailure("expected a category in {}");
    let name = "";
    while (!this.isAtEnd && this.#next !== "}") name += this.#pass();
    const test = categories.get(name);
    if (test === undefined || !this.#take("}")) throw new PatternFailure("unknown category");
    if (!this.#ignoresCase) return (character) => test.test(character) !== isNegated;
    // Texts are in lower case then, and each letter is also its capital.
    return (character) => (test.test(character) || test.test(character.toUpperCase())) !== isNegated;
  }

  #escapedCharacter(): string {
    const letter = this.#pass();
    const control = controls.get(letter);
    if (control === undefined && !/^[^0-9A-Za-z]$/u.test(letter))
      throw new PatternFailure(`unknown escape \\${letter}`);
    return control ?? letter;
  }

  #same(given: string): CharacterTest {
    const wanted = this.#ignoresCase ? given.toLowerCase() : given;
    return (character) => character === wanted;
  }

  get #next(): string | undefined {
    return this.#text[this.#at];
  }

  #pass(): string {
    const character = this.#next;
    if (character === undefined) throw new PatternFailure("unexpected end");
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at += 1;
    return true;
  }
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

const controls: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

const categoryLetters: ReadonlySet<string> = new Set(["p", "P", "d", "D", "w", "W", "s", "S"]);

const namedClasses: ReadonlyMap<string, CharacterTest> = new Map([
  ["d", (character: string) => /^\d$/.test(character)],
  ["D", (character: string) => !/^\d$/.test(character)],
  ["w", (character: string) => /^\w$/.test(character)],
  ["W", (character: string) => !/^\w$/.test(character)],
  ["s", (character: string) => /^\s$/.test(character)],
  ["S", (character: string) => !/^\s$/.test(character)],
]);

/** The general categories of Unicode that RFC 9485 names. */
const categories: ReadonlyMap<string, RegExp> = new Map([
  ["L", /^\p{L}$/u],
  ["Ll", /^\p{Ll}$/u],
  ["Lm", /^\p{Lm}$/u],
  ["Lo", /^\p{Lo}$/u],
  ["Lt", /^\p{Lt}$/u],
  ["Lu", /^\p{Lu}$/u],
  ["M", /^\p{M}$/u],
  ["Mc", /^\p{Mc}$/u],
  ["Me", /^\p{Me}$/u],
  ["Mn", /^\p{Mn}$/u],
  ["N", /^\p{N}$/u],
  ["Nd", /^\p{Nd}$/u],
  ["Nl", /^\p{Nl}$/u],
  ["No", /^\p{No}$/u],
  ["P", /^\p{P}$/u],
  ["Pc", /^\p{Pc}$/u],
  ["Pd", /^\p{Pd}$/u],
  ["Pe", /^\p{Pe}$/u],
  ["Pf", /^\p{Pf}$/u],
  ["Pi", /^\p{Pi}$/u],
  ["Po", /^\p{Po}$/u],
  ["Ps", /^\p{Ps}$/u],
  ["Z", /^\p{Z}$/u],
  ["Zl", /^\p{Zl}$/u],
  ["Zp", /^\p{Zp}$/u],
  ["Zs", /^\p{Zs}$/u],
  ["S", /^\p{S}$/u],
  ["Sc", /^\p{Sc}$/u],
  ["Sk", /^\p{Sk}$/u],
  ["Sm", /^\p{Sm}$/u],
  ["So", /^\p{So}$/u],
  ["C", /^\p{C}$/u],
  ["Cc", /^\p{Cc}$/u],
  ["Cf", /^\p{Cf}$/u],
  ["Cn", /^\p{Cn}$/u],
  ["Co", /^\p{Co}$/u],
]);
