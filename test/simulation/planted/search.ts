/** Bugs that the upkeep of search indexes could have. */
import { type SearchBug, SearchProgram } from "../search/search-programs.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

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
  ],
};
