/** SQLite with FTS5 in memory, with the stemmer of Porter, and a table for prices and zones. */
import { DatabaseSync } from "node:sqlite";
import { type BenchDocument, PRICE_BOUND, type QueryWords } from "./data-set.ts";
import { type Figures, meanMs, processorMs } from "./measure.ts";

export function measureFts5(documents: readonly BenchDocument[], words: QueryWords): Figures {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE documents (id INTEGER PRIMARY KEY, price REAL, zone TEXT)");
  database.exec("CREATE VIRTUAL TABLE texts USING fts5 (title, body, tokenize = 'porter unicode61')");
  const insertText = database.prepare("INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)");
  const insertDocument = database.prepare("INSERT INTO documents VALUES (?, ?, ?)");
  database.exec("BEGIN");
  for (const [id, { price, zone }] of documents.entries()) insertDocument.run(id, price, zone);
  const startMs = processorMs();
  for (const [id, { title, body }] of documents.entries()) insertText.run(id, title, body);
  database.exec("COMMIT");
  const indexMs = processorMs() - startMs;

  const { rare, middling, common, pair } = words;
  const find = database.prepare("SELECT rowid, rank FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10");
  const countAll = database.prepare("SELECT count(*) FROM texts WHERE texts MATCH ?");
  const below = database.prepare(
    `SELECT texts.rowid, rank FROM texts JOIN documents ON documents.id = texts.rowid
     WHERE texts MATCH ? AND price < ? ORDER BY rank LIMIT 10`,
  );
  const byPrice = database.prepare(
    `SELECT texts.rowid FROM texts JOIN documents ON documents.id = texts.rowid
     WHERE texts MATCH ? ORDER BY price DESC LIMIT 10`,
  );
  const zones = database.prepare("SELECT zone, count(*), avg(price) FROM documents GROUP BY zone ORDER BY 2 DESC");
  const query = (text: string) => () => find.all(`body : ${text}`);
  return {
    "index, documents/s": (1_000 * documents.length) / indexMs,
    "rare word, ms": meanMs(query(rare)),
    "middling word, ms": meanMs(query(middling)),
    "common word, ms": meanMs(query(common)),
    "COUNT of the common word, ms": meanMs(() => countAll.all(`body : ${common}`)),
    "two words, AND, ms": meanMs(query(`(${common} AND ${middling})`)),
    "phrase of two, ms": meanMs(query(`"${pair}"`)),
    "common word with a price below half, ms": meanMs(() => below.all(`body : ${common}`, PRICE_BOUND / 2)),
    "common word with a rare price, ms": meanMs(() => below.all(`body : ${common}`, PRICE_BOUND / 100)),
    "$terms and $avg over all, ms": meanMs(() => zones.all()),
    "common word by price, ms": meanMs(() => byPrice.all(`body : ${common}`)),
  };
}
