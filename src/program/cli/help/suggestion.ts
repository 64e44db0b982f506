/** "did you mean": the known word that is nearest to a misspelt one. */

/** A word may have one mistake for each so many characters, and always one. */
const CHARACTERS_PER_MISTAKE = 3;

/** Longer words are not compared, because the comparison takes the product of both lengths. */
const LENGTH_MAX = 64;

/** The nearest of the known words; undefined if none is near. Of equally near words, the first. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > LENGTH_MAX) return undefined;
  let best: string | undefined;
  let fewest = Math.max(1, Math.floor(word.replace(/^-+/, "").length / CHARACTERS_PER_MISTAKE)) + 1;
  for (const candidate of known) {
    const mistakes = mistakesBetween(word.toLowerCase(), candidate.toLowerCase());
    if (mistakes >= fewest) continue;
    fewest = mistakes;
    best = candidate;
  }
  return best;
}

/** `: did you mean serve?`, or nothing. */
export function suggestionFor(word: string, known: Iterable<string>): string {
  const found = nearest(word, known);
  return found === undefined ? "" : `: did you mean ${found}?`;
}

/** Inserted, missing, wrong and swapped characters: the optimal string alignment distance. */
function mistakesBetween(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isEqual = left[row - 1] === right[column - 1];
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const wrong = at(last, column - 1) + (isEqual ? 0 : 1);
      const swapped = isSwapped ? at(beforeLast, column - 2) + 1 : wrong;
      current.push(Math.min(at(last, column) + 1, at(current, column - 1) + 1, wrong, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

/** The first row has none before it, so no characters can be swapped there. */
function at(distances: readonly number[], index: number): number {
  return distances[index] ?? Number.POSITIVE_INFINITY;
}
