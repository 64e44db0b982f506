/**
 * The cost of compiling a source beyond its length, counted before it is
 * compiled. Lua 5.1's compiler is linear in nearly everything. In these cases it
 * is not, and a megabyte of source takes half a minute:
 *
 *     jumps    a list of jumps is walked from its start whenever one is added:
 *              by each `and` and `or` of an expression, by each branch of an
 *              `if`, by each `break` of a loop
 *     names    a name is searched among the active locals of its function, and
 *              of each enclosing function
 *     hashes   strings and numbers are found in hash tables without a seed, so
 *              constants can be chosen that are all in one chain
 *
 * (1) The count is at least the work of the compiler, except for a factor that
 *     the limits allow for: the slowest megabytes found within them compile in
 *     0.9 CPU seconds, others in 0.1.
 * (2) The count takes one pass over the source, and for the hashes one over its
 *     constants for each size that a table may have.
 * (3) A source that is not Lua may be counted wrongly: the compiler stops at its
 *     first fault, and everything before it is Lua.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { LuaConstants } from "./lua/constants.ts";
import { LuaTokens, Token } from "./lua/tokens.ts";

/** Shorter sources compile in some ten milliseconds, whatever their content. */
export const COUNTED_BYTES_MIN = 32 * 1_024;

// The shares of the three limits together are at most the whole.

/** Steps along lists of jumps: 20,000 operators in one expression, or as many branches in one `if`. A step takes 2.5 ns. */
const JUMP_STEPS_MAX = 200_000_000;
/** Comparisons of a name with a local: 300 locals in scope for each name of a megabyte. A comparison takes 1.3 ns. */
const NAME_STEPS_MAX = 300_000_000;
/** Comparisons along chains of a hash table: 9,000 constants in one chain. A comparison takes 3 to 6 ns. */
const HASH_STEPS_MAX = 80_000_000;

/** Limit of variables of enclosing functions in a function; they are searched too. */
const UPVALUES_MAX = 60;
/** Hidden locals of `for`. */
const FOR_LOCALS = 3;

interface Block {
  readonly kind: "function" | "loop" | "branches" | "other";
  /** Locals in scope, jumps and functions before it. */
  readonly localCount: number;
  readonly jumpCount: number;
  /** Operators of the enclosing expression, and the number of open brackets around it. */
  readonly operatorCount: number;
  readonly bracketCount: number;
}

/** Where the next names are new locals. */
type Declaring = "nothing" | "locals" | "function name" | "parameters" | "loop variables";

/** Why this source is slow to compile, as the end of a sentence; undefined if it is not. */
export function compileFault(source: Bytes): string | undefined {
  if (source.length < COUNTED_BYTES_MIN) return undefined;
  return new CompileCost(source).fault();
}

class CompileCost {
  readonly #tokens: LuaTokens;
  readonly #constants = new LuaConstants();
  readonly #blocks: Block[] = [];
  /** Operators around each open bracket. */
  readonly #brackets: number[] = [];
  /** `and` and `or` of the current expression whose jumps may be in one list. */
  #operatorCount = 0;
  #jumpCount = 0;
  #localCount = 0;
  #functionCount = 0;
  #declaring: Declaring = "nothing";
  /** `while` and `for` before their `do`. */
  readonly #awaiting: Block[] = [];
  #jumpSteps = 0;
  #nameSteps = 0;

  constructor(source: Bytes) {
    this.#tokens = new LuaTokens(source);
  }

  fault(): string | undefined {
    const tokens = this.#tokens;
    for (let token = tokens.next(); token !== Token.end; token = tokens.next()) {
      this.#count(token);
      if (this.#jumpShare + this.#nameShare > 1) return this.#worst(0);
    }
    const hashShare = this.#constants.steps() / HASH_STEPS_MAX;
    return this.#jumpShare + this.#nameShare + hashShare > 1 ? this.#worst(hashShare) : undefined;
  }

  get #jumpShare(): number {
    return this.#jumpSteps / JUMP_STEPS_MAX;
  }

  get #nameShare(): number {
    return this.#nameSteps / NAME_STEPS_MAX;
  }

  #worst(hashShare: number): string {
    if (hashShare > this.#jumpShare && hashShare > this.#nameShare) return "too many constants with the same hash";
    const { line } = this.#tokens;
    return this.#nameShare > this.#jumpShare
      ? `line ${line}: too many names with too many locals in scope`
      : `line ${line}: too many 'and', 'or', 'elseif' or 'break' in one expression, 'if' or loop`;
  }

  #count(token: Token): void {
    switch (token) {
      case Token.name:
        this.#constants.addString(this.#tokens.text());
        this.#name();
        return;
      case Token.string:
        this.#constants.addString(this.#tokens.text());
        break;
      case Token.number:
        this.#constants.addNumber(this.#tokens.text());
        break;
      case Token.and:
      case Token.or:
        this.#jumpSteps += this.#operatorCount;
        this.#operatorCount += 1;
        this.#jumpCount += 1;
        break;
      case Token.open:
        if (this.#declaring === "function name") this.#declaring = "parameters";
        this.#brackets.push(this.#operatorCount);
        this.#operatorCount = 0;
        return;
      case Token.close:
        // Jumps inside a bracket may continue in the lists around it.
        this.#operatorCount += this.#brackets.pop() ?? 0;
        break;
      case Token.comma:
        this.#operatorCount = 0;
        return;
      case Token.dot:
        // The name after it is a field, or of a function that is stored in one.
        return;
      case Token.assign:
      case Token.separator:
        this.#operatorCount = 0;
        break;
      case Token.other:
        break;
      default:
        this.#keyword(token);
        return;
    }
    this.#declaring = "nothing";
  }

  #name(): void {
    if (this.#declaring === "locals" || this.#declaring === "parameters" || this.#declaring === "loop variables")
      this.#localCount += 1;
    // Counted also if it is a field or a new local, which is slightly too much.
    this.#nameSteps += this.#localCount + this.#functionCount * UPVALUES_MAX;
  }

  #keyword(token: Token): void {
    if (token !== Token.function) this.#operatorCount = 0;
    const wasDeclaring = this.#declaring;
    this.#declaring = "nothing";
    switch (token) {
      case Token.local:
        this.#declaring = "locals";
        return;
      case Token.function:
        // The name of `local function f`.
        if (wasDeclaring === "locals") this.#localCount += 1;
        this.#push("function");
        // `self`
        this.#localCount += 1;
        this.#functionCount += 1;
        this.#declaring = "function name";
        return;
      case Token.if:
        this.#push("branches");
        this.#jumpCount += 1;
        return;
      case Token.elseif:
      case Token.else:
        this.#branch();
        return;
      case Token.while:
        this.#awaiting.push(this.#push("loop"));
        this.#jumpCount += 1;
        return;
      case Token.for:
        this.#awaiting.push(this.#push("loop"));
        this.#jumpCount += 1;
        this.#localCount += FOR_LOCALS;
        this.#declaring = "loop variables";
        return;
      case Token.do:
        if (this.#awaiting.length > 0 && this.#awaiting.at(-1) === this.#blocks.at(-1)) this.#awaiting.pop();
        else this.#push("other");
        return;
      case Token.repeat:
        this.#push("loop");
        return;
      case Token.break:
        this.#break();
        return;
      case Token.until:
      case Token.end_:
        this.#pop();
        return;
      default:
        return;
    }
  }

  #push(kind: Block["kind"]): Block {
    const block: Block = {
      kind,
      localCount: this.#localCount,
      jumpCount: this.#jumpCount,
      operatorCount: this.#operatorCount,
      bracketCount: this.#brackets.length,
    };
    this.#blocks.push(block);
    this.#operatorCount = 0;
    return block;
  }

  #pop(): void {
    const block = this.#blocks.pop();
    if (block === undefined) return;
    this.#localCount = block.localCount;
    this.#operatorCount = block.operatorCount;
    if (this.#brackets.length > block.bracketCount) this.#brackets.length = block.bracketCount;
    if (block.kind === "function") this.#functionCount -= 1;
    // Jumps to its end join those of the enclosing end.
    else this.#jumpSteps += this.#jumpCount - block.jumpCount;
    this.#jumpCount += 1;
  }

  #branch(): void {
    this.#jumpCount += 1;
    const block = this.#blocks.at(-1);
    if (block === undefined) return;
    this.#localCount = block.localCount;
    this.#jumpSteps += this.#jumpCount - block.jumpCount;
  }

  #break(): void {
    this.#jumpCount += 1;
    for (let index = this.#blocks.length - 1; index >= 0; index -= 1) {
      const block = this.#blocks[index] as Block;
      if (block.kind === "function") return;
      if (block.kind !== "loop") continue;
      this.#jumpSteps += this.#jumpCount - block.jumpCount;
      return;
    }
  }
}
