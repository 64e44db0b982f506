/**
 * The scripts of a database by their SHA-1, for EVALSHA.
 *
 * (1) A digest is 40 hexadecimal digits in lower case.
 * (2) Scripts take at most `bytesMax`; above it the least recently used are
 *     removed. A client that gets NOSCRIPT sends the script again.
 * (3) A short script is also found by its text, because EVAL sends it each time
 *     and a digest takes longer than a small script.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { sha1 } from "../../kernel/checksum/sha1.ts";
import { parseScriptHeader, type ScriptHeader } from "./script-header.ts";

export interface CachedScript extends ScriptHeader {
  readonly digest: string;
  /** As the client sent it, with the shebang; `source` is a part of it. */
  readonly text: Bytes;
}

export const SCRIPT_CACHE_BYTES_MAX = 32 * 1_024 * 1_024;
/** Of a SHA-1 in hexadecimal digits. */
export const DIGEST_LENGTH = 40;
/** V8 hashes strings above 16 KiB by their length alone: many of one length would all be compared. */
const KNOWN_TEXT_LENGTH_MAX = 8_192;
/** Memory of an entry beside the text. */
const ENTRY_BYTES = 200;

export class ScriptCache {
  readonly #scripts = new Map<string, CachedScript>();
  /** The short ones among them: (3). */
  readonly #byText = new Map<Bytes, CachedScript>();
  /** The last one that was used: the last entry of `#scripts`. */
  #newest: CachedScript | undefined;
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = SCRIPT_CACHE_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#scripts.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Stores the script and returns it. Throws CommandError if its shebang is wrong, and errors of `check`, which is
   * called once for each script before it is stored.
   */
  add(script: Bytes, check?: (script: CachedScript) => void): CachedScript {
    const isShort = script.length <= KNOWN_TEXT_LENGTH_MAX;
    const known = isShort ? this.#byText.get(script) : undefined;
    if (known !== undefined) return this.#use(known);
    const digest = sha1(script).toString("hex");
    const found = this.find(digest);
    if (found !== undefined) return found;
    const added = { ...parseScriptHeader(script), digest, text: script };
    check?.(added);
    this.#scripts.set(digest, added);
    this.#newest = added;
    if (isShort) this.#byText.set(script, added);
    this.#bytes += bytesOf(added);
    // keeps (2)
    for (const [oldest, { source, text }] of this.#scripts) {
      if (this.#bytes <= this.#bytesMax || oldest === digest) break;
      this.#scripts.delete(oldest);
      this.#byText.delete(text);
      this.#bytes -= bytesOf({ source });
    }
    return added;
  }

  /** The script of this digest, in upper or lower case. */
  find(digest: string): CachedScript | undefined {
    if (this.#newest?.digest === digest) return this.#newest;
    const found = this.#scripts.get(digest) ?? this.#scripts.get(digest.toLowerCase());
    return found && this.#use(found);
  }

  /** The text of the script of this digest, without counting as a use; for SCRIPT SHOW. */
  textOf(digest: string): Bytes | undefined {
    return this.#scripts.get(digest.toLowerCase())?.text;
  }

  /** As `find`, without counting as a use; for SCRIPT EXISTS. */
  has(digest: string): boolean {
    return this.#scripts.has(digest.toLowerCase());
  }

  flush(): void {
    this.#scripts.clear();
    this.#byText.clear();
    this.#newest = undefined;
    this.#bytes = 0;
  }

  /** Makes a script the most recently used one: the order of a Map is that of insertion. */
  #use(script: CachedScript): CachedScript {
    if (script === this.#newest) return script;
    this.#scripts.delete(script.digest);
    this.#scripts.set(script.digest, script);
    this.#newest = script;
    return script;
  }
}

function bytesOf({ source }: { readonly source: Bytes }): number {
  return source.length + ENTRY_BYTES;
}
