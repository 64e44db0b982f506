/**
 * What evaluating filters has cost. A filter decides one record in bounded
 * work, but records differ: a comparison is one step, a GLOB over a long text
 * or a CONTAINS over a long array thousands. Whoever walks many records bounds
 * a slice by the difference of two readings instead of by the count of records.
 */

/** Characters of texts and elements of arrays looked at so far, by all filters. Only ever grows. */
export const filterWork = { steps: 0 };
