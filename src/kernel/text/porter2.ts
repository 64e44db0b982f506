/**
 * The stem of an English word: "connected", "connecting" and "connections" are
 * all "connect". This is Porter2 as Snowball publishes it, in the form of its
 * release 3 (https://snowballstem.org/algorithms/english/stemmer.html).
 *
 * Token ids are made of stems and are stored permanently, so stems must never
 * change: porter2.test.ts has the pairs.
 *
 * R1 is the part of a word after the first consonant that follows a vowel, and
 * R2 is the same part of R1. A `Y` is a y that is a consonant.
 */

/** A word being stemmed, and where its regions begin: suffixes change, regions do not. */
interface Word {
  text: string;
  readonly r1: number;
  readonly r2: number;
}

/** The replacement of a suffix. Each step replaces only the longest suffix of its table that a word has. */
interface Ending {
  readonly suffix: string;
  readonly replacement: string;
  /** A further condition, besides that the suffix is in the region of its step. `stem` is the part before it. */
  readonly allows?: (stem: string, word: Word) => boolean;
}

const WORD_LENGTH_MIN = 3;

/** Words whose stem follows no rule. */
const irregular: ReadonlyMap<string, string> = new Map([
  ["skis", "ski"],
  ["skies", "sky"],
  ["idly", "idl"],
  ["gently", "gentl"],
  ["ugly", "ugli"],
  ["early", "earli"],
  ["only", "onli"],
  ["singly", "singl"],
  ...["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"].map((word) => [word, word] as const),
]);

/** Prefixes whose R1 is the rest of the word: otherwise "general" and "generous", for example, had one stem. */
const wideBeginnings = ["arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers"] as const;

/** Stems before -ing in nouns like "evening". */
const wholeBeforeIng: ReadonlySet<string> = new Set(["even", "cann", "inn", "earr", "herr", "out"]);
/** Stems before -eed: "succeed" does not come from "succee". */
const wholeBeforeEed: ReadonlySet<string> = new Set(["succ", "proc", "exc"]);

const endsSoftly = (stem: string): boolean => /[cdeghkmnrt]$/.test(stem);

const secondStep = byLastLetter([
  { suffix: "tional", replacement: "tion" },
  { suffix: "enci", replacement: "ence" },
  { suffix: "anci", replacement: "ance" },
  { suffix: "abli", replacement: "able" },
  { suffix: "entli", replacement: "ent" },
  { suffix: "izer", replacement: "ize" },
  { suffix: "ization", replacement: "ize" },
  { suffix: "ational", replacement: "ate" },
  { suffix: "ation", replacement: "ate" },
  { suffix: "ator", replacement: "ate" },
  { suffix: "alism", replacement: "al" },
  { suffix: "aliti", replacement: "al" },
  { suffix: "alli", replacement: "al" },
  { suffix: "fulness", replacement: "ful" },
  { suffix: "ousli", replacement: "ous" },
  { suffix: "ousness", replacement: "ous" },
  { suffix: "iveness", replacement: "ive" },
  { suffix: "iviti", replacement: "ive" },
  { suffix: "biliti", replacement: "ble" },
  { suffix: "bli", replacement: "ble" },
  { suffix: "ogist", replacement: "og" },
  { suffix: "ogi", replacement: "og", allows: (stem) => stem.endsWith("l") },
  { suffix: "fulli", replacement: "ful" },
  { suffix: "lessli", replacement: "less" },
  { suffix: "li", replacement: "", allows: endsSoftly },
]);

const thirdStep = byLastLetter([
  { suffix: "tional", replacement: "tion" },
  { suffix: "ational", replacement: "ate" },
  { suffix: "alize", replacement: "al" },
  { suffix: "icate", replacement: "ic" },
  { suffix: "iciti", replacement: "ic" },
  { suffix: "ical", replacement: "ic" },
  { suffix: "ful", replacement: "" },
  { suffix: "ness", replacement: "" },
  { suffix: "ative", replacement: "", allows: (stem, { r2 }) => stem.length >= r2 },
]);

const fourthStep = byLastLetter(
  [
    ...["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"],
    ...["ism", "ate", "iti", "ous", "ive", "ize"],
  ]
    .map((suffix): Ending => ({ suffix, replacement: "" }))
    .concat({
      suffix: "ion",
      replacement: "",
      allows: (stem) => /[st]$/.test(stem),
    }),
);

/** The stem of a word in lower case. Apostrophes are `'`; letters outside English count as consonants. */
export function stemOf(given: string): string {
  if (given.length < WORD_LENGTH_MIN) return given;
  const known = irregular.get(given);
  if (known !== undefined) return known;
  const marked = markConsonants(given.startsWith("'") ? given.slice(1) : given);
  const r1 = wideBeginnings.find((beginning) => marked.startsWith(beginning))?.length ?? regionAfter(marked, 0);
  const word: Word = { text: marked, r1, r2: regionAfter(marked, r1) };
  dropPossessive(word);
  dropPlural(word);
  dropPastOrContinuous(word);
  softenFinalY(word);
  replaceEnding(word, secondStep, word.r1);
  replaceEnding(word, thirdStep, word.r1);
  replaceEnding(word, fourthStep, word.r2);
  dropFinal(word);
  return word.text.toLowerCase();
}

/** Turns a y at the beginning or after a vowel into Y. */
function markConsonants(word: string): string {
  if (!word.includes("y")) return word;
  let marked = "";
  for (let i = 0; i < word.length; i += 1) {
    const isConsonant = word[i] === "y" && (i === 0 || isVowel(marked, i - 1));
    marked += isConsonant ? "Y" : word[i];
  }
  return marked;
}

/** The start of the region after the first consonant that follows a vowel from `from` on, or the end of the text. */
function regionAfter(word: string, from: number): number {
  let at = from;
  while (at < word.length && !isVowel(word, at)) at += 1;
  while (at < word.length && isVowel(word, at)) at += 1;
  return Math.min(at + 1, word.length);
}

/** Step 0. */
function dropPossessive(word: Word): void {
  word.text = word.text.replace(/'(?:s'?)?$/, "");
}

/** Step 1a. */
function dropPlural(word: Word): void {
  const { text } = word;
  if (text.endsWith("sses")) word.text = text.slice(0, -2);
  else if (text.endsWith("ied") || text.endsWith("ies")) word.text = text.slice(0, text.length > 4 ? -2 : -1);
  else if (/[^us]s$/.test(text) && hasVowel(text, text.length - 2)) word.text = text.slice(0, -1);
}

/** Step 1b. */
function dropPastOrContinuous(word: Word): void {
  const { text, r1 } = word;
  const suffix = /(?:eed|ed|ing)(?:ly)?$/.exec(text)?.[0];
  if (suffix === undefined) return;
  const stem = text.slice(0, -suffix.length);
  if (suffix.startsWith("eed")) {
    if (stem.length >= r1 && !wholeBeforeEed.has(stem)) word.text = `${stem}ee`;
    return;
  }
  if (suffix === "ing") {
    if (wholeBeforeIng.has(stem)) return;
    if (stem.length === 2 && stem.endsWith("y") && !isVowel(stem, 0)) {
      word.text = `${stem.slice(0, 1)}ie`;
      return;
    }
  }
  if (hasVowel(stem, stem.length)) word.text = mended(stem, r1);
}

/** Restores the ending of a verb before -ed or -ing. */
function mended(stem: string, r1: number): string {
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (/(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(stem)) return /^[aeo]..$/.test(stem) ? stem : stem.slice(0, -1);
  return stem.length === r1 && endsInShortSyllable(stem) ? `${stem}e` : stem;
}

/** Step 1c. */
function softenFinalY(word: Word): void {
  const { text } = word;
  const last = text.length - 1;
  if (last > 1 && /[yY]$/.test(text) && !isVowel(text, last - 1)) word.text = `${text.slice(0, -1)}i`;
}

/** Steps 2 to 4. */
function replaceEnding(word: Word, endings: ReadonlyMap<string, readonly Ending[]>, region: number): void {
  const { text } = word;
  const ending = endings.get(text.slice(-1))?.find(({ suffix }) => text.endsWith(suffix));
  if (ending === undefined) return;
  const stem = text.slice(0, -ending.suffix.length);
  if (stem.length < region || ending.allows?.(stem, word) === false) return;
  word.text = stem + ending.replacement;
}

/** Step 5. */
function dropFinal(word: Word): void {
  const { text, r1, r2 } = word;
  const stem = text.slice(0, -1);
  const isInR2 = stem.length >= r2;
  const isDropped = text.endsWith("e")
    ? isInR2 || (stem.length >= r1 && !endsInShortSyllable(stem))
    : isInR2 && text.endsWith("ll");
  if (isDropped) word.text = stem;
}

/** Consonant, vowel, and a consonant other than w, x and Y; or only a vowel and a consonant; or "past". */
function endsInShortSyllable(text: string): boolean {
  const last = text.length - 1;
  if (last < 1 || isVowel(text, last) || !isVowel(text, last - 1)) return text.endsWith("past");
  if (last === 1) return true;
  return !isVowel(text, last - 2) && !/[wxY]$/.test(text) ? true : text.endsWith("past");
}

function isVowel(text: string, at: number): boolean {
  switch (text.charCodeAt(at)) {
    case 0x61: // a
    case 0x65: // e
    case 0x69: // i
    case 0x6f: // o
    case 0x75: // u
    case 0x79: // y
      return true;
    default:
      return false;
  }
}

/** Whether there is a vowel before an offset. */
function hasVowel(text: string, end: number): boolean {
  for (let at = 0; at < end; at += 1) if (isVowel(text, at)) return true;
  return false;
}

/** The endings by their last letter, the longest first. */
function byLastLetter(endings: readonly Ending[]): ReadonlyMap<string, readonly Ending[]> {
  return Map.groupBy(
    endings.toSorted((a, b) => b.suffix.length - a.suffix.length),
    ({ suffix }) => suffix.slice(-1),
  );
}
