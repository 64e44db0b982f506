/** A history that takes everything and keeps nothing. See without-history.ts. */
import type { HistoryDoor } from "../../src/program/history/history-door.ts";

export async function openHistory(): Promise<HistoryDoor> {
  let position = 0;
  const door: HistoryDoor = {
    durableTo: (place) => {
      position = place.position;
      door.onPosition(position);
    },
    append: () => {},
    list: async () => ({ entries: [], cursor: undefined }),
    get position() {
      return position;
    },
    onPosition: () => {},
    close: async () => {},
  };
  return door;
}
