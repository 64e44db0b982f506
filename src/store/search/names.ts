/**
 * The names of the indexes of a database: the definitions among its keys, and the
 * aliases beside them. Only `mutations/` changes them.
 *
 * (1) `definitions` has exactly the keys whose value is a definition.
 * (2) `#marks` counts them by a hash that costs a few comparisons: most other keys
 *     are told apart by it.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { SearchDefinition } from "../values/search-definition.ts";

const MARKS = 256;

/** Memory of an alias beside its bytes. */
const ALIAS_BYTES = 80;

export class SearchNames {
  readonly definitions = new Map<Bytes, SearchDefinition>();
  /** Alias to the name of an index, which need not exist. */
  readonly aliases = new Map<Bytes, Bytes>();
  readonly #marks = new Uint8Array(MARKS);
  /** Memory of the aliases. */
  aliasBytes = 0;
  /** Called after a definition was added or removed. */
  onChange: (() => void) | undefined;

  /** Whether a key is an index. */
  isIndex(key: Bytes): boolean {
    return this.#marks[markOf(key)] !== 0 && this.definitions.has(key);
  }

  /** The definition with this name or alias, and its own name; a name comes before an alias. */
  find(name: Bytes): { readonly name: Bytes; readonly value: SearchDefinition } | undefined {
    const own = this.definitions.get(name);
    if (own !== undefined) return { name, value: own };
    const target = this.aliases.get(name);
    const value = target === undefined ? undefined : this.definitions.get(target);
    return target === undefined || value === undefined ? undefined : { name: target, value };
  }

  /** Makes an alias name this index, or with `undefined` nothing. */
  setAlias(alias: Bytes, name: Bytes | undefined): void {
    const old = this.aliases.get(alias);
    if (old !== undefined) this.aliasBytes -= ALIAS_BYTES + alias.length + old.length;
    if (name === undefined) this.aliases.delete(alias);
    else {
      this.aliases.set(alias, name);
      this.aliasBytes += ALIAS_BYTES + alias.length + name.length;
    }
  }

  putDefinition(key: Bytes, value: SearchDefinition): void {
    this.#add(key, value);
    this.onChange?.();
  }

  removeDefinition(key: Bytes): void {
    if (this.definitions.delete(key)) (this.#marks[markOf(key)] as number) -= 1;
    this.onChange?.();
  }

  /** Forgets all names. The returned function brings them back. */
  clear(): () => void {
    const definitions = [...this.definitions];
    const aliases = [...this.aliases];
    this.definitions.clear();
    this.#marks.fill(0);
    this.aliases.clear();
    this.aliasBytes = 0;
    if (definitions.length > 0) this.onChange?.();
    return () => {
      for (const [key, value] of definitions) this.#add(key, value);
      for (const [alias, name] of aliases) this.setAlias(alias, name);
      this.onChange?.();
    };
  }

  /** keeps (2) */
  #add(key: Bytes, value: SearchDefinition): void {
    if (!this.definitions.has(key)) (this.#marks[markOf(key)] as number) += 1;
    this.definitions.set(key, value);
  }
}

function markOf(key: Bytes): number {
  const { length } = key;
  return length === 0 ? 0 : (length * 31 + key.charCodeAt(length - 1) * 7 + key.charCodeAt(length >>> 1)) & (MARKS - 1);
}
