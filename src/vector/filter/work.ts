/**
 * The cost of evaluating filters. Matching a record takes bounded work, but
 * records differ: a comparison is one step, a GLOB over a long text or a CONTAINS
 * over a long array thousands. So code that matches many records bounds a slice
 * by the difference of two readings instead of by the number of records.
 */

/** Characters of texts and elements of arrays read so far, by all filters. It only grows. */
export const filterWork = { steps: 0 };
