/** Bugs that the upkeep of search indexes, and what queries read of them, could have. */
import type { Postings, TextReader } from "../../../src/store/search/index/index-reader.ts";
import { type SearchBug, SearchProgram } from "../search/search-programs.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

/** Changes what queries read of the text of an index. */
function ofTexts(change: (text: TextReader) => void): SearchBug {
  return {
    index: ({ index }) => {
      const text = index.text.bind(index);
      const changed = new Set<TextReader>();
      index.text = (field) => {
        const reader = text(field);
        if (!changed.has(reader)) {
          changed.add(reader);
          change(reader);
        }
        return reader;
      };
    },
  };
}

/** Changes each walk through the documents of a term, from its first `seek` on: the digest of an index does not seek. */
function ofPostings(change: (postings: Postings) => void): SearchBug {
  return ofTexts((reader) => {
    const postings = reader.postings.bind(reader);
    replace(reader, "postings", (term: number) => {
      const walk = postings(term);
      const seek = walk.seek.bind(walk);
      replace(walk, "seek", (document: number) => {
        replace(walk, "seek", seek);
        change(walk);
        return walk.seek(document);
      });
      return walk;
    });
  });
}

function replace(object: object, name: string, method: unknown): void {
  Object.defineProperty(object, name, { value: method, configurable: true });
}

export const searchBugs: PlantedBugs<SearchBug> = {
  simulation: "programs with search indexes",
  run: async (seed, bug) => {
    try {
      new SearchProgram(seed, bug).run();
      return undefined;
    } catch (error) {
      return String(error);
    }
  },
  runsMax: 30,
  bugs: [
    {
      name: "a write is not noted",
      breaks: "src/store/search/upkeep/search-upkeep.ts",
      bug: {
        index: (live) => {
          const note = live.note.bind(live);
          let count = 0;
          live.note = (key) => {
            count += 1;
            if (count % 11 !== 0) note(key);
          };
        },
      },
      seed: 2,
      found: /the (?:documents|order|content|count|score) of/,
    },
    {
      name: "an expiry is not due",
      breaks: "src/store/search/upkeep/live-index.ts",
      bug: {
        index: (live) => {
          live.expire = function* () {};
        },
      },
      seed: 8,
      found: /the (?:documents|order|content|count|score) of/,
    },
    {
      name: "the order of documents is lost at a restart",
      breaks: "src/store/mutations/state/search-indexes.ts",
      bug: {
        restored: (store) => {
          for (const value of store.database("main").keyspace.search.definitions.values()) value.storeOrder(0, []);
        },
      },
      seed: 1,
      found: /after a restart from a snapshot/,
    },
    {
      name: "a part of the scan of SEARCH.CREATE is skipped",
      breaks: "src/store/search/upkeep/live-index.ts",
      bug: {
        scan: (store) => {
          const { entries } = store.database("main").keyspace;
          const scan = entries.scan.bind(entries);
          entries.scan = (cursor, visit) => scan(cursor, (slot) => (slot % 5 === 0 ? undefined : visit(slot)));
          return () => {
            entries.scan = scan;
          };
        },
      },
      seed: 1,
      found: /the documents of/,
    },
    {
      name: "a document that did not change gets a new number",
      breaks: "src/store/search/index/search-index.ts",
      bug: {
        index: ({ index }) => {
          const put = index.put.bind(index);
          index.put = (key, document) => {
            index.remove(key);
            return put(key, document);
          };
        },
      },
      seed: 3,
      found: /the order of/,
    },
    {
      name: "removed documents are counted",
      breaks: "src/store/search/index/search-index.ts",
      bug: {
        index: ({ index }) => {
          Object.defineProperty(index, "documentCount", { get: () => index.documentLimit });
        },
      },
      seed: 1,
      found: /the (?:score|count|order) of|after a restart/,
    },
    {
      name: "a term counts once in a document that has it several times",
      breaks: "src/store/search/index/postings/postings-cursor.ts",
      bug: ofPostings((walk) => Object.defineProperty(walk, "frequency", { get: () => 1 })),
      seed: 2,
      found: /the score of/,
    },
    {
      name: "a seek passes the document that it looks for",
      breaks: "src/store/search/index/postings/postings-cursor.ts",
      bug: ofPostings((walk) => {
        const seek = walk.seek.bind(walk);
        replace(walk, "seek", (document: number) => seek(document + 1));
      }),
      seed: 3,
      found: /the (?:content|count) of/,
    },
    {
      name: "the positions of a term are those of every second token",
      breaks: "src/store/search/index/postings/postings-cursor.ts",
      bug: ofPostings((walk) => {
        const positions = walk.positions.bind(walk);
        replace(walk, "positions", () => positions().map((position) => 2 * position));
      }),
      seed: 4,
      found: /the (?:score|content|count) of/,
    },
    {
      name: "a text counts as one token longer than it is",
      breaks: "src/store/search/index/lengths.ts",
      bug: ofTexts((reader) => {
        const lengthOf = reader.lengthOf.bind(reader);
        replace(reader, "lengthOf", (document: number) => lengthOf(document) + 1);
      }),
      seed: 1,
      found: /the score of/,
    },
    {
      name: "a term is in one document more",
      breaks: "src/store/search/index/text-index.ts",
      bug: ofTexts((reader) => {
        const frequency = reader.documentFrequency.bind(reader);
        replace(reader, "documentFrequency", (term: number) => frequency(term) + 1);
      }),
      seed: 1,
      found: /the score of/,
    },
  ],
};
