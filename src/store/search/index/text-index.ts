/** The terms and postings of one TEXT field. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { Dictionary } from "../../structures/dictionary.ts";
import type { FieldValue } from "../definition.ts";
import type { InSlices } from "../slices.ts";
import type { Analyzer, TermNumbers } from "../text/analyzer.ts";
import { KnownWords } from "../text/known-words.ts";
import { ByteStringList, ownBytes } from "./byte-string-list.ts";
import { grown, type LiveDocuments } from "./documents/live-documents.ts";
import type { FuzzyOptions, Postings, Spend, Term, TextReader, TokenPattern } from "./index-reader.ts";
import { codeOfLength, lengthOfCode } from "./lengths.ts";
import type { ByteArena } from "./postings/byte-arena.ts";
import { type Occurrences, PostingLists } from "./postings/posting-lists.ts";
import { PostingsCursor } from "./postings/postings-cursor.ts";
import { codePointsOf } from "./terms/code-points.ts";
import { LevenshteinAutomaton } from "./terms/levenshtein.ts";
import { SortedTerms } from "./terms/sorted-terms.ts";
import { type PrefixAutomaton, walkPrefix, walkTerms } from "./terms/term-walk.ts";
import type { CompiledTokenPattern } from "./token-pattern.ts";
import { GAP, type TokenSequence } from "./token-sequence.ts";

export class TextIndex implements TextReader, TermNumbers {
  readonly known = new KnownWords();
  readonly #live: LiveDocuments;
  readonly #lists: PostingLists;
  readonly #tokens = new ByteStringList();
  readonly #terms: Dictionary<Term>;
  readonly #sorted = new SortedTerms(this.#tokens);
  /** The codes of the lengths of documents, 0 for those without the field. */
  readonly #lengths = { codes: new Uint8Array(16) };
  #tokenCount = 0;
  #tokenBytes = 0;
  #unusedTokenBytes = 0;

  constructor(arena: ByteArena, { live, hashSeed }: { readonly live: LiveDocuments; readonly hashSeed: Uint8Array }) {
    this.#terms = new Dictionary(hashSeed, { sharesKeys: true });
    this.#live = live;
    this.#lists = new PostingLists(arena, this.#lengths);
  }

  get tokenCount(): number {
    return this.#tokenCount;
  }

  get termCount(): number {
    return this.#tokens.length;
  }

  /** The bytes of all distinct tokens. */
  get tokenBytes(): number {
    return this.#tokenBytes;
  }

  /** The bytes of tokens that no live document has. */
  get unusedTokenBytes(): number {
    return this.#unusedTokenBytes;
  }

  /** Of all but the postings, which are in the arena. */
  get memoryBytes(): number {
    return (
      this.#tokens.memoryBytes +
      this.#terms.memoryBytes +
      this.known.memoryBytes +
      this.#sorted.memoryBytes +
      this.#lists.memoryBytes +
      this.#lengths.codes.byteLength
    );
  }

  /** Fills a sequence with the terms of values; new tokens become terms. */
  analyse(values: readonly FieldValue[], analyzer: Analyzer, sequence: TokenSequence): void {
    for (let i = 0; i < values.length; i += 1) {
      const text = values[i] as Bytes;
      if (i > 0) sequence.push(GAP);
      if (analyzer.number === undefined) analyzer.analyse(text, (token) => sequence.push(this.termFor(token)));
      else analyzer.number(text, this, sequence);
    }
  }

  /** The term of a token, which becomes one if it is new. */
  termFor(token: Bytes): Term {
    const known = this.#terms.get(token);
    if (known !== undefined) return known;
    const own = ownBytes(token);
    const term = this.#lists.addTerm();
    this.#tokens.push(own);
    this.#tokenBytes += own.length;
    this.#unusedTokenBytes += own.length;
    this.#terms.insert(own, term);
    this.#sorted.insert(term);
    return term;
  }

  /** Adds a document, whose number is above all others. */
  add(document: number, sequence: TokenSequence): void {
    if (document >= this.#lengths.codes.length) this.#lengths.codes = grown(this.#lengths.codes, document + 1);
    if (sequence.length === 0) return;
    const distinctCount = this.#countTerms(sequence);
    let tokenCount = 0;
    for (let slot = 0; slot < distinctCount; slot += 1) tokenCount += slotCounts[slot] as number;
    this.#lengths.codes[document] = codeOfLength(tokenCount);
    this.#tokenCount += tokenCount;
    for (let slot = 0; slot < distinctCount; slot += 1) {
      occurrences.first = slotFirsts[slot] as number;
      occurrences.count = slotCounts[slot] as number;
      const term = slotTerms[slot] as number;
      if (this.#lists.append(term, document, occurrences) === 1) this.#unusedTokenBytes -= this.tokenOf(term).length;
    }
    shrinkSlots();
  }

  /** Corrects all counts for a removed document, which had this sequence. */
  remove(document: number, sequence: TokenSequence): void {
    const distinctCount = this.#countTerms(sequence);
    for (let slot = 0; slot < distinctCount; slot += 1) {
      this.#tokenCount -= slotCounts[slot] as number;
      const term = slotTerms[slot] as number;
      if (this.#lists.subtractDocument(term) === 0) this.#unusedTokenBytes += this.tokenOf(term).length;
    }
    this.#lengths.codes[document] = 0;
    shrinkSlots();
  }

  lengthOf(document: number): number {
    return lengthOfCode[this.#lengths.codes[document] as number] as number;
  }

  term(token: Bytes): Term | undefined {
    return this.#terms.get(token);
  }

  tokenOf(term: Term): Bytes {
    return this.#tokens.at(term);
  }

  documentFrequency(term: Term): number {
    return this.#lists.liveCount(term);
  }

  postings(term: Term): Postings {
    return new PostingsCursor(this.#lists, term, { live: this.#live, lengths: this.#lengths });
  }

  *termsWithPrefix(
    prefix: Bytes,
    { limit, spend }: { readonly limit: number; readonly spend: Spend },
  ): InSlices<Term[]> {
    const found: Term[] = [];
    if (limit <= 0) return found;
    const take = (term: Term): boolean => {
      if (this.#lists.liveCount(term) > 0) found.push(term);
      return found.length < limit;
    };
    yield* walkPrefix(prefix, { sorted: this.#sorted, tokens: this.#tokens }, { take, spend });
    return found;
  }

  termsNear(token: Bytes, { spend, ...options }: FuzzyOptions): InSlices<Term[]> {
    return this.#walk(new LevenshteinAutomaton(codePointsOf(token), options), spend);
  }

  /** The pattern must be one of `compileTokenPattern`. */
  termsMatching(pattern: TokenPattern, spend: Spend): InSlices<Term[]> {
    return this.#walk((pattern as CompiledTokenPattern).automaton(spend), spend);
  }

  *#walk(automaton: PrefixAutomaton, spend: Spend): InSlices<Term[]> {
    const found: Term[] = [];
    const take = (term: Term): void => {
      if (this.#lists.liveCount(term) > 0) found.push(term);
    };
    yield* walkTerms(automaton, { sorted: this.#sorted, tokens: this.#tokens }, { take, spend });
    return found;
  }

  /**
   * Counts each term of a sequence, in the order of their first occurrence, and links its positions; returns the number
   * of terms.
   */
  #countTerms(sequence: TokenSequence): number {
    const { terms, length } = sequence;
    reserveSlots(length);
    let distinctCount = 0;
    for (let i = 0; i < length; i += 1) {
      const term = terms[i] as number;
      if (term === GAP) continue;
      let slot = this.#lists.slotOf(term);
      // The slot of a term is from an earlier sequence unless the term is there.
      if (slot >= distinctCount || slotTerms[slot] !== term) {
        slot = distinctCount;
        distinctCount += 1;
        slotTerms[slot] = term;
        slotCounts[slot] = 1;
        slotFirsts[slot] = i;
        this.#lists.setSlot(term, slot);
      } else {
        slotCounts[slot] = (slotCounts[slot] as number) + 1;
        occurrences.nexts[slotLasts[slot] as number] = i;
      }
      slotLasts[slot] = i;
    }
    return distinctCount;
  }
}

const SLOTS_MIN = 256;
/** More slots than this are not kept after use. */
const SLOTS_KEPT_MAX = 65_536;

// The distinct terms of the document at hand, used by one index after the other.
let slotTerms = new Uint32Array(SLOTS_MIN);
let slotCounts = new Uint32Array(SLOTS_MIN);
let slotFirsts = new Uint32Array(SLOTS_MIN);
let slotLasts = new Uint32Array(SLOTS_MIN);
const occurrences: Occurrences = { nexts: new Uint32Array(SLOTS_MIN), first: 0, count: 0 };

function reserveSlots(count: number): void {
  if (count > slotTerms.length) setSlots(2 ** Math.ceil(Math.log2(count)));
}

function shrinkSlots(): void {
  if (slotTerms.length > SLOTS_KEPT_MAX) setSlots(SLOTS_MIN);
}

function setSlots(count: number): void {
  slotTerms = new Uint32Array(count);
  slotCounts = new Uint32Array(count);
  slotFirsts = new Uint32Array(count);
  slotLasts = new Uint32Array(count);
  occurrences.nexts = new Uint32Array(count);
}
