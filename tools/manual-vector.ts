/** The chapters of the manual about the vector index, from its tables. */

import { GRAPH_WORK_MIN } from "../src/vector/index/namespace.ts";
import { RESUMABLE_IDLE_SECONDS, RESUMABLE_IDLE_SECONDS_MAX } from "../src/vector/limits.ts";

export function vectorEndpointsChapter(): readonly string[] {
  return [
    "## The endpoints of the vector index",
    "",
    'Every request carries `Authorization: Bearer <token>`, and the token names the index. An index is also reachable below its name, `/<index name>/query`. GET, POST, PUT and DELETE are the same on every path. Where a path takes a namespace it is what stands behind the command, percent-encoded; nothing is the default namespace. Bodies are JSON. A success is `{"result": …}`, a failure `{"error": "…", "status": <code>}` that names the field and has changed nothing. A body above `--max-request-size` is 413, and refusals of the listener, such as a request that is not HTTP, have the same form.',
    "",
    "All paths: [routes](reference/routes.md#the-vector-index).",
    "",
    'Everything comes back as it was written. An id is any text, also an empty one. A number as id is its spelling: `1152921504606846977` and `1152921504606846978` are two ids, and so are `1` and `1.0`. Numbers in metadata keep their spelling, also through a PATCH. Vectors are float32: values and scores are printed as the shortest decimal that reads back as the same float32, with a point or an exponent (`5.0`, `-0.0`, `1e-7`), so that typed clients read floats; counts and indices are integers. Text with a lone surrogate (`"\\ud800"`) is refused with 422.',
    "",
    "`range` answers `nextCursor`, which goes into `cursor` of the next request; without a cursor it begins at the start. The cursor names the place after the last record: the next page leaves out nothing and repeats nothing, whatever others upsert or delete, also after a restart. A number as cursor, or a text of digits, is an offset: so many records are passed over, as they are then.",
    "",
    'A delete takes `ids`, a `prefix` or a `filter`, or an id or a list of ids as the whole body. A body that does not begin with `{`, `[` or `"` is an id as it is.',
    "",
    "An upsert is done as a whole or not at all, and is seen by every request that begins after its answer. An upsert of an id that exists replaces the record and keeps its place in the order of ranges and of equal scores. A delete by prefix or filter that touches more than a thousand records is done in portions: a crash in its midst, before the answer, may leave some of them deleted.",
    "",
    `A resumable query is kept in memory until it is ended, has been idle for its \`maxIdle\` (in seconds, ${RESUMABLE_IDLE_SECONDS} by default, at most ${RESUMABLE_IDLE_SECONDS_MAX}) or the server stops. It sees what is written meanwhile and answers no id twice.`,
    "",
    `Small namespaces are searched exactly. One of more than ${GRAPH_WORK_MIN / 1_000_000} million values (records times dimensions) gets a graph, which a thread of its own builds in the background: from then on a search looks at the records that the graph names, and scores them exactly, with those that are not in it yet (\`pendingVectorCount\`). A filter is never a reason for fewer hits: where few records pass, just those are scored.`,
  ];
}

export function filterChapter(): readonly string[] {
  return [
    "## The filters of metadata",
    "",
    "A filter is conditions with AND and OR, AND first, and parentheses. A field is a name, `a.b` inside an object, `a[0]` in an array, `a[#-1]` counted from its end. A value is a text in single or double quotes (a backslash takes the next character as it is), a number, `true` or `false`, which are also `1` and `0`. Keywords are read in upper and lower case.",
    "",
    "What each operator compares: [operators of metadata filters](reference/filter-operators.md).",
    "",
    "Numbers are compared as float64, but whole numbers beyond 2^53 to the last digit: `n = 9007199254740993` does not find 9007199254740992.",
    "",
    "A condition on a field that the record does not have is false, also of the negated operators; only `HAS NOT FIELD` finds what is missing. A field of another type than the operator compares is as if it did not match, `x < 5` of a text for instance; `x != 'a'` of a number is true, because it is there and not equal. A field that is null is there and is equal to nothing. A record without metadata has no fields.",
  ];
}
