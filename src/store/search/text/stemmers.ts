/**
 * The stemmers of all languages: Snowball's, release 2. English is our own (`kernel/text/porter2.ts`), which is
 * release 3 and differs in a few irregular words; the others are files in `vendor/stemmers/`, loaded when the first
 * text of their language is analysed.
 */
import { createRequire } from "node:module";
import { stemOf } from "../../../kernel/text/porter2.ts";
import type { Language } from "../definition.ts";

/** The stem of a word, both as JavaScript strings. The word is in lower case. */
export type Stemmer = (word: string) => string;

const require = createRequire(import.meta.url);

/** `imports` of package.json has the path, which is another one for the built program. */
const loadStemmer = (language: Language): Stemmer =>
  (require(`#stemmers/${language}`) as { readonly stemmer: Stemmer }).stemmer;

const loaded = new Map<Language, Stemmer>([["english", stemOf]]);

/** The stemmer of a language. The first call for a language loads a file of 4 to 30 KB. */
export function stemmerOf(language: Language): Stemmer {
  const known = loaded.get(language);
  if (known !== undefined) return known;
  const stemmer = loadStemmer(language);
  loaded.set(language, stemmer);
  return stemmer;
}
