/** A history that accepts everything and stores nothing. See without-history.ts. */
import type { HistoryStore } from "../../src/program/history/history-store.ts";

export async function openHistory(): Promise<HistoryStore> {
  let position = 0;
  const api: HistoryStore = {
    durableTo: (place) => {
      position = place.position;
      api.onPosition(position);
    },
    append: () => {},
    list: async () => ({ entries: [], cursor: undefined }),
    get position() {
      return position;
    },
    onPosition: () => {},
    close: async () => {},
  };
  return api;
}
