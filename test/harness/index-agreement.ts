/** Compares the search indexes of a database with its keys, read again one by one. */
import assert from "node:assert/strict";
import type { Database } from "../../src/store/database.ts";
import type { FieldValue, SearchDocument } from "../../src/store/search/definition.ts";
import { documentReader } from "../../src/store/search/document.ts";
import type { SearchIndex } from "../../src/store/search/index/search-index.ts";
import { atOnce } from "../../src/store/search/slices.ts";

/** Throws unless each index has exactly the documents that the keys have now. TEXT fields are compared by presence. */
export function assertIndexesAgree(database: Database, context: string): void {
  const { keyspace, search } = database;
  for (const name of keyspace.search.definitions.keys()) {
    const found = search.find(name);
    assert.ok(found !== undefined, `${context}: the index ${name} is found`);
    const { live } = found;
    while (live.isScanning) live.runSlice();
    atOnce(live.prepare(() => false));
    const { dataType, prefixes, fields } = live.value.definition;
    const read = documentReader(live.value.definition);
    const expected = new Map<string, unknown>();
    for (const [key, value] of keyspace.entries.entries()) {
      if (!prefixes.some((prefix) => key.startsWith(prefix))) continue;
      if ((keyspace.expiries.get(key) ?? Number.POSITIVE_INFINITY) < keyspace.nowMs) continue;
      const document = read(value, keyspace.nowMs);
      if (document !== undefined)
        expected.set(
          key,
          fields.map((_, field) => shown(document, field, fields[field]?.type === "TEXT")),
        );
    }
    const actual = new Map<string, unknown>();
    for (let document = 0; document < live.index.documentLimit; document += 1) {
      if (!live.index.isLive(document)) continue;
      actual.set(
        live.index.keyOf(document),
        fields.map((_, field) => valuesOf(live.index, document, field)),
      );
    }
    assert.deepEqual(sorted(actual), sorted(expected), `${context}: the index ${name} on ${dataType}`);
  }
}

function sorted(map: ReadonlyMap<string, unknown>): unknown[] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1));
}

function shown(document: SearchDocument, field: number, isText: boolean): unknown {
  const values = document[field];
  if (isText) return (values ?? []).some((value) => /[a-z0-9]/i.test(String(value)));
  return [...new Set(values ?? [])].map(String).sort();
}

function valuesOf(index: SearchIndex, document: number, field: number): unknown {
  if (index.definition.fields[field]?.type === "TEXT") return index.text(field).lengthOf(document) > 0;
  const column = index.column(field);
  const values: FieldValue[] = [];
  for (let at = 0; at < column.countOf(document); at += 1)
    values.push(column.kind === "words" ? column.wordOf(column.ordinalOf(document, at)) : column.valueOf(document, at));
  return [...new Set(values)].map(String).sort();
}
