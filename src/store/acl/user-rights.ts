/**
 * The rights of a user, as ACL SETUSER sets them: whether it may log in, its
 * passwords, its selector and further selectors.
 *
 * (1) No password is stored, only its SHA-256.
 * (2) The rules of `describe` give the same rights to a new user: exactly the stored ones, and the listed ones
 *     except for the empty key, which the pattern `*` does not match.
 */
import { createHash } from "node:crypto";
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import { looked } from "../commands/command-keys.ts";
import type { CommandTable } from "./command-table.ts";
import type { RuleFault } from "./rule-fault.ts";
import { type Denial, type RuleForm, Selector } from "./selector.ts";

export interface Password {
  /** SHA-256 in lower-case hexadecimal digits. */
  readonly hash: string;
  /** A token of ACL GENTOKEN for this user, which also authenticates over HTTP. */
  readonly isToken: boolean;
}

/** Limit of passwords of a user: each is compared at a login. */
export const PASSWORDS_MAX = 100;
/** Limit of selectors: each is checked for each command. */
export const SELECTORS_MAX = 100;
/** Bytes of all rules of a user. */
export const RULES_BYTES_MAX = 64 * 1024;

const HASH = /^[0-9a-f]{64}$/;

export interface RuleContext {
  /** Whether a password is a token of ACL GENTOKEN for this user. */
  readonly isToken: (password: Bytes) => boolean;
}

export class UserRights {
  readonly #table: CommandTable;
  isEnabled = false;
  /** May log in with any password. */
  needsNoPassword = false;
  /** Undefined if never set. Stored as in Redis, but without effect: RESTORE always checks its payload. */
  #sanitizes: boolean | undefined;
  #passwords: readonly Password[] = [];
  /** Its own selector, then those in parentheses. */
  #selectors: readonly Selector[];

  /** A new user: may neither log in nor run commands. */
  constructor(table: CommandTable) {
    this.#table = table;
    this.#selectors = [new Selector(table)];
  }

  copy(): UserRights {
    const copy = new UserRights(this.#table);
    copy.isEnabled = this.isEnabled;
    copy.needsNoPassword = this.needsNoPassword;
    copy.#sanitizes = this.#sanitizes;
    copy.#passwords = this.#passwords;
    copy.#selectors = this.#selectors.map((selector) => selector.copy());
    return copy;
  }

  get passwords(): readonly Password[] {
    return this.#passwords;
  }

  get selectors(): readonly Selector[] {
    return this.#selectors;
  }

  get isUnrestricted(): boolean {
    return this.#selectors.some((selector) => selector.isUnrestricted);
  }

  /** Applies one rule. After a fault the rights are unusable, so apply rules to a copy. */
  apply(rule: Bytes, context: RuleContext): RuleFault | undefined {
    if (rule === "") return undefined;
    switch (rule.toLowerCase()) {
      case "on":
        this.isEnabled = true;
        return undefined;
      case "off":
        this.isEnabled = false;
        return undefined;
      case "nopass":
        this.needsNoPassword = true;
        this.#passwords = [];
        return undefined;
      case "resetpass":
        this.needsNoPassword = false;
        this.#passwords = [];
        return undefined;
      case "sanitize-payload":
        this.#sanitizes = true;
        return undefined;
      case "skip-sanitize-payload":
        this.#sanitizes = false;
        return undefined;
      case "clearselectors":
        this.#selectors = this.#selectors.slice(0, 1);
        return undefined;
      case "reset":
        this.#reset();
        return undefined;
    }
    switch (rule.charAt(0)) {
      case ">":
        return this.#addPassword({ hash: hashOf(rule.slice(1)), isToken: context.isToken(rule.slice(1)) });
      case "#":
        return HASH.test(rule.slice(1)) ? this.#addPassword({ hash: rule.slice(1), isToken: false }) : "malformed hash";
      case "<":
        return this.#removePassword(hashOf(rule.slice(1)));
      case "!":
        return HASH.test(rule.slice(1)) ? this.#removePassword(rule.slice(1)) : "malformed hash";
      case "(":
        if (rule.endsWith(")")) return this.#addSelector(rule.slice(1, -1));
    }
    return this.#own.apply(rule);
  }

  /** Why a command may not run with these words, or undefined: the denial that Redis would choose. */
  denialOf(command: CommandFacts, words: readonly Bytes[]): Denial | undefined {
    let found: Denial | undefined;
    for (const selector of this.#selectors) {
      const denial = selector.denialOf(command, words);
      if (denial === undefined) return undefined;
      if (found === undefined || rankOf(denial) > rankOf(found)) found = denial;
    }
    return found;
  }

  /** Whether a selector that may read every key allows these words: for keys that no word names. */
  mayReadAllKeys(command: CommandFacts, words: readonly Bytes[]): boolean {
    return this.#selectors.some(
      (selector) => selector.mayReadAllKeys && selector.denialOf(command, words) === undefined,
    );
  }

  /** Whether a selector that allows these words may read every key with one of these prefixes. */
  mayReadPrefixes(command: CommandFacts, words: readonly Bytes[], prefixes: readonly Bytes[]): boolean {
    return this.#selectors.some(
      (selector) =>
        prefixes.every((prefix) => selector.mayReadPrefix(prefix)) && selector.denialOf(command, words) === undefined,
    );
  }

  /** Whether a selector has any right to a key. */
  mayKnow(key: Bytes): boolean {
    return this.#selectors.some((selector) => selector.mayUse(key, looked));
  }

  /** As ACL GETUSER prints them. */
  get flags(): readonly string[] {
    return [
      this.isEnabled ? "on" : "off",
      ...(this.needsNoPassword ? ["nopass"] : []),
      ...(this.#sanitizes === undefined ? [] : [this.#sanitizes ? "sanitize-payload" : "skip-sanitize-payload"]),
    ];
  }

  /** As ACL LIST prints it, without the name, or as stored. keeps (2) */
  describe(form: RuleForm = "listed"): readonly Bytes[] {
    const [own, ...others] = this.#selectors;
    return [
      ...this.flags,
      ...this.#passwords.map(({ hash }) => `#${hash}`),
      ...(own?.describe(form) ?? []),
      ...others.map((selector) => `(${selector.describe(form).join(" ")})`),
    ];
  }

  /** Marks one of its passwords as a token: for records. */
  markToken(hash: string): void {
    this.#passwords = this.#passwords.map((password) => (password.hash === hash ? { hash, isToken: true } : password));
  }

  get #own(): Selector {
    return this.#selectors[0] as Selector;
  }

  #reset(): void {
    this.needsNoPassword = false;
    this.#passwords = [];
    this.isEnabled = false;
    this.#sanitizes = true;
    this.#selectors = [new Selector(this.#table)];
  }

  #addPassword(added: Password): RuleFault | undefined {
    this.needsNoPassword = false;
    const others = this.#passwords.filter(({ hash }) => hash !== added.hash);
    if (others.length === this.#passwords.length) {
      if (others.length >= PASSWORDS_MAX) return "too many passwords";
      this.#passwords = [...others, added];
    } else if (added.isToken) {
      this.markToken(added.hash);
    }
    return undefined;
  }

  #removePassword(removed: string): RuleFault | undefined {
    const left = this.#passwords.filter(({ hash }) => hash !== removed);
    if (left.length === this.#passwords.length) return "no such password";
    this.#passwords = left;
    return undefined;
  }

  #addSelector(rules: Bytes): RuleFault | undefined {
    if (this.#selectors.length > SELECTORS_MAX) return "too many rules";
    const selector = new Selector(this.#table);
    for (const rule of rules.split(/[\t-\r ]+/)) {
      const fault = rule === "" ? undefined : selector.apply(rule);
      if (fault !== undefined) return fault;
    }
    this.#selectors = [...this.#selectors, selector];
    return undefined;
  }
}

/** SHA-256 in lower-case hexadecimal digits. */
export function hashOf(password: Bytes): string {
  return createHash("sha256").update(bufferFrom(password)).digest("hex");
}

const rankOfReason: Readonly<Record<Denial["reason"], number>> = { command: 0, key: 1, channel: 2 };

/** The denial that ranks highest, as in Redis. */
function rankOf({ reason, at }: Denial): number {
  return rankOfReason[reason] * 2 ** 32 + at;
}
