/** The answers of the vector index that the clients in Python, Go and PHP read. */
import type { Shape } from "./client-rows.ts";

/** Every answer is in `result`. */
export const result = (shape: Shape | readonly [Shape]): Shape => ({ needs: { result: shape } });

export const record: Shape = { needs: { id: "text" }, may: { data: "text" } };
export const hit: Shape = { needs: { id: "text", score: "number" }, may: { data: "text" } };

export const success: Shape = { needs: { result: "text" } };
export const deleted = result({ needs: { deleted: "integer" } });
export const updated = result({ needs: { updated: "integer" } });
export const page = result({ needs: { nextCursor: "text", vectors: [record] } });
export const resumable = result({ needs: { uuid: "text", scores: [hit] } });
export const info = result({
  needs: {
    vectorCount: "integer",
    pendingVectorCount: "integer",
    indexSize: "integer",
    dimension: "integer",
    similarityFunction: "text",
    namespaces: { needs: { "": { needs: { vectorCount: "integer", pendingVectorCount: "integer" } } } },
  },
});
