/** Events of an area that nobody listens to, for tests. */
import type { AreaEvents } from "../../src/program/areas/area.ts";

export const noEvents: AreaEvents = {
  state: () => {},
  replayed: () => {},
  trouble: () => {},
  snapshotDue: () => {},
  snapshotRequested: () => {},
  problem: () => {},
  shard: () => {},
};
