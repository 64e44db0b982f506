/**
 * A selector: rights on commands, keys and channels that apply together. A user
 * has its own selector and any number of others; a command may run if one of
 * them alone allows it.
 *
 *     command   its bit (command-rights.ts)
 *     key       for each key of the command, a matching pattern that allows its use: read, write or both
 *     channel   PUBLISH and SUBSCRIBE: a matching pattern. PSUBSCRIBE: the same pattern, literally
 */
import { type Bytes, copyOf } from "../../kernel/bytes.ts";
import type { CommandFacts, KeyUse } from "../command-facts.ts";
import { findKeys, hasKeys } from "../commands/command-keys.ts";
import { matchesGlob } from "../structures/glob.ts";
import { CommandRights } from "./command-rights.ts";
import type { CommandTable } from "./command-table.ts";
import type { RuleFault } from "./rule-fault.ts";

export interface KeyPattern {
  readonly pattern: Bytes;
  readonly mayRead: boolean;
  readonly mayWrite: boolean;
}

/** `listed`: as in ACL LIST, in the words of Redis. `stored`: exact. */
export type RuleForm = "listed" | "stored";

/** What a selector denies. `at`: the index of the word. */
export interface Denial {
  readonly reason: "command" | "key" | "channel";
  readonly at: number;
}

const commandDenied: Denial = { reason: "command", at: 0 };

/** Limit of a selector for patterns of keys, patterns of channels, and rules on commands, each. */
export const SELECTOR_RULES_MAX = 1_000;

/** Space as `isspace` of C defines it, and the zero byte. */
const SPACE = /[\0\t-\r ]/;

export function hasSpaces(bytes: Bytes): boolean {
  return SPACE.test(bytes);
}

export class Selector {
  readonly commands: CommandRights;
  #keys: readonly KeyPattern[] = [];
  #hasAllKeys = false;
  #channels: readonly Bytes[] = [];
  #hasAllChannels = false;

  /** A selector without rights. */
  constructor(commands: CommandTable | CommandRights) {
    this.commands = commands instanceof CommandRights ? commands : new CommandRights(commands);
  }

  copy(): Selector {
    const copy = new Selector(this.commands.copy());
    copy.#keys = this.#keys;
    copy.#hasAllKeys = this.#hasAllKeys;
    copy.#channels = this.#channels;
    copy.#hasAllChannels = this.#hasAllChannels;
    return copy;
  }

  get isUnrestricted(): boolean {
    return this.commands.isEverything && this.#hasAllKeys && this.#hasAllChannels;
  }

  /** Applies one rule on commands, keys or channels. A faulty rule changes nothing. */
  apply(rule: Bytes): RuleFault | undefined {
    const word = wordRules.get(rule.toLowerCase());
    if (word !== undefined) {
      word(this);
      return undefined;
    }
    const sign = rule.charAt(0);
    if (sign === "~") return this.#addKeys({ pattern: copyOf(rule, 1, rule.length), mayRead: true, mayWrite: true });
    if (sign === "%") return this.#addUsedKeys(rule);
    if (sign === "&") return this.#addChannels(copyOf(rule, 1, rule.length));
    if (sign !== "+" && sign !== "-") return "syntax";
    if (this.commands.ruleCount >= SELECTOR_RULES_MAX) return "too many rules";
    return this.commands.apply(rule);
  }

  setAllKeys(isAllowed: boolean): void {
    this.#hasAllKeys = isAllowed;
    this.#keys = [];
  }

  setAllChannels(isAllowed: boolean): void {
    this.#hasAllChannels = isAllowed;
    this.#channels = [];
  }

  /** Why a command may not run with these words, whose number fits its arity, or undefined. */
  denialOf(command: CommandFacts, words: readonly Bytes[]): Denial | undefined {
    if (!this.commands.allows(command, words)) return commandDenied;
    if (!this.#hasAllKeys && hasKeys(command))
      for (const { key, use, at } of findKeys(command, words).keys)
        if (!this.mayUse(key, use)) return { reason: "key", at };
    if (this.#hasAllChannels || command.channels === undefined) return undefined;
    const { first, last, arePatterns } = command.channels;
    const end = last < 0 ? words.length + last : last;
    for (let at = first; at <= end; at += 1)
      if (!this.mayListen(words[at] as Bytes, arePatterns)) return { reason: "channel", at };
    return undefined;
  }

  mayUse(key: Bytes, { isRead, isWritten }: KeyUse): boolean {
    if (this.#hasAllKeys) return true;
    for (const { pattern, mayRead, mayWrite } of this.#keys) {
      if ((isRead && !mayRead) || (isWritten && !mayWrite)) continue;
      if (matchesGlob(pattern, key)) return true;
    }
    return false;
  }

  /** `isPattern`: for PSUBSCRIBE. */
  mayListen(channel: Bytes, isPattern: boolean): boolean {
    return (
      this.#hasAllChannels ||
      this.#channels.some((pattern) => (isPattern ? pattern === channel : matchesGlob(pattern, channel)))
    );
  }

  /** Whether it may read all keys. */
  get mayReadAllKeys(): boolean {
    return this.#hasAllKeys || this.#keys.some(({ pattern, mayRead }) => mayRead && pattern === "*");
  }

  /**
   * Whether it may read every key with this prefix: one of its patterns is a beginning of the prefix and a star. The
   * empty key, which no pattern matches, has the empty prefix only.
   */
  mayReadPrefix(prefix: Bytes): boolean {
    if (this.#hasAllKeys) return true;
    if (prefix === "") return false;
    return this.#keys.some(({ pattern, mayRead }) => {
      const beginning = mayRead ? beginningOf(pattern) : undefined;
      return beginning !== undefined && prefix.startsWith(beginning);
    });
  }

  /** As ACL GETUSER prints them: rules, separated by spaces. */
  describeKeys(): Bytes {
    return this.#hasAllKeys ? "~*" : this.#keys.map(describePattern).join(" ");
  }

  describeChannels(): Bytes {
    return this.#hasAllChannels ? "&*" : this.#channels.map((pattern) => `&${pattern}`).join(" ");
  }

  /** These rules, applied in order to a selector without rights, give this one. */
  describe(form: RuleForm): readonly Bytes[] {
    const keys =
      form === "listed" ? this.describeKeys() : this.#hasAllKeys ? "~*" : this.#keys.map(storedPattern).join(" ");
    const channels = this.describeChannels();
    return [
      ...(keys === "" ? [] : keys.split(" ")),
      ...(this.#hasAllChannels ? [] : ["resetchannels"]),
      ...(channels === "" ? [] : channels.split(" ")),
      ...this.commands.describe().split(" "),
    ];
  }

  /** `%R~pattern`, `%W~…`, `%RW~…`. */
  #addUsedKeys(rule: Bytes): RuleFault | undefined {
    const end = rule.indexOf("~");
    const letters = rule.slice(1, end).toUpperCase();
    if (this.#hasAllKeys) return "pattern after all keys";
    if (end < 2 || !/^(?:R|W|RW|WR)$/.test(letters)) return "syntax";
    return this.#addKeys({
      pattern: copyOf(rule, end + 1, rule.length),
      mayRead: letters.includes("R"),
      mayWrite: letters.includes("W"),
    });
  }

  #addKeys(added: KeyPattern): RuleFault | undefined {
    if (this.#hasAllKeys) return "pattern after all keys";
    if (hasSpaces(added.pattern)) return "syntax";
    const at = this.#keys.findIndex(({ pattern }) => pattern === added.pattern);
    const known = this.#keys[at];
    if (known === undefined) {
      if (this.#keys.length >= SELECTOR_RULES_MAX) return "too many rules";
      this.#keys = [...this.#keys, added];
      return undefined;
    }
    this.#keys = this.#keys.with(at, {
      pattern: known.pattern,
      mayRead: known.mayRead || added.mayRead,
      mayWrite: known.mayWrite || added.mayWrite,
    });
    return undefined;
  }

  #addChannels(pattern: Bytes): RuleFault | undefined {
    if (this.#hasAllChannels) return "pattern after all channels";
    if (hasSpaces(pattern)) return "syntax";
    if (this.#channels.includes(pattern)) return undefined;
    if (this.#channels.length >= SELECTOR_RULES_MAX) return "too many rules";
    this.#channels = [...this.#channels, pattern];
    return undefined;
  }
}

/** Rules that are one word, in lower case. */
const wordRules: ReadonlyMap<Bytes, (selector: Selector) => void> = new Map([
  ["allkeys", (selector: Selector) => selector.setAllKeys(true)],
  ["~*", (selector: Selector) => selector.setAllKeys(true)],
  ["resetkeys", (selector: Selector) => selector.setAllKeys(false)],
  ["allchannels", (selector: Selector) => selector.setAllChannels(true)],
  ["&*", (selector: Selector) => selector.setAllChannels(true)],
  ["resetchannels", (selector: Selector) => selector.setAllChannels(false)],
  ["allcommands", (selector: Selector) => selector.commands.setAll(true)],
  ["+@all", (selector: Selector) => selector.commands.setAll(true)],
  ["nocommands", (selector: Selector) => selector.commands.setAll(false)],
  ["-@all", (selector: Selector) => selector.commands.setAll(false)],
]);

/** What all keys that begin so match: of `user:*` it is `user:`. Undefined for another form of pattern. */
function beginningOf(pattern: Bytes): Bytes | undefined {
  let beginning = "";
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (character === "*") return at === pattern.length - 1 ? beginning : undefined;
    if (character === "?" || character === "[") return undefined;
    if (character === "\\" && at + 1 < pattern.length) at += 1;
    beginning += pattern.charAt(at);
  }
  return undefined;
}

/** `~*` is every key, while the pattern alone does not match the empty one. */
function storedPattern(key: KeyPattern): Bytes {
  const listed = describePattern(key);
  return listed === "~*" ? "%RW~*" : listed;
}

function describePattern({ pattern, mayRead, mayWrite }: KeyPattern): Bytes {
  if (mayRead && mayWrite) return `~${pattern}`;
  return mayRead ? `%R~${pattern}` : `%W~${pattern}`;
}
