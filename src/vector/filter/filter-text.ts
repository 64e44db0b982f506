/** A cache of parsed filters by their text, because programs use the same few again and again. */
import { unprocessable } from "../failure.ts";
import { FilterFailure } from "./failure.ts";
import { compileFilter, type Filter } from "./filter.ts";

const FILTERS_MAX = 256;

const cache = new Map<string, Filter>();

/** Throws a `VectorFailure` whose text states the error and its place. */
export function readFilter(text: string): Filter {
  const known = cache.get(text);
  if (known !== undefined) return known;
  try {
    const filter = compileFilter(text);
    if (cache.size >= FILTERS_MAX) cache.clear();
    cache.set(text, filter);
    return filter;
  } catch (fault) {
    if (fault instanceof FilterFailure) throw unprocessable(fault.text);
    throw fault;
  }
}
