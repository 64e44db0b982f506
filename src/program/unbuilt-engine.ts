/** The engine of an area that this version does not have: it answers 503 and holds nothing. */
import { placeholderArea } from "../edge/placeholder-routes.ts";
import type { AreaEngine } from "./listening-area.ts";

/** `name` as in a sentence: `the vector index`. */
export function unbuiltEngine(name: string): AreaEngine {
  const nothing = async (): Promise<void> => {};
  return {
    edge: placeholderArea(name),
    open: nothing,
    close: nothing,
    reset: nothing,
    tenantNames: () => [],
    setTokens: nothing,
    dropTenant: nothing,
    prepareSnapshot: nothing,
    finishSnapshot: async () => false,
  };
}
