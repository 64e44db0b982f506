/** Retries and deletes of dead letters, by their ids or by the filters of a list. */
import { request } from "../../api/client.ts";
import { api } from "./places.ts";

/** The most that one request changes. */
const BULK_MAX = 500;

export type LetterFilter = Readonly<Record<string, string | readonly string[]>>;

/** Publishes dead letters again. Resolves with what happened, as a sentence. */
export async function retryLetters(tenant: string, filter: LetterFilter): Promise<string> {
  let count = 0;
  await repeat(async (cursor) => {
    const { responses, cursor: next } = await request<{ responses: unknown[]; cursor?: string }>(
      api(tenant, "dlq", "retry"),
      { json: { ...filter, count: [`${BULK_MAX}`], ...cursorField(cursor) } },
    );
    count += responses.length;
    return next;
  });
  return count === 0 ? "No dead letter could be retried" : `Published again: ${count}`;
}

/** Resolves with what happened, as a sentence. */
export async function deleteLetters(tenant: string, filter: LetterFilter): Promise<string> {
  let count = 0;
  await repeat(async (cursor) => {
    const { deleted, cursor: next } = await request<{ deleted: number; cursor?: string }>(api(tenant, "dlq"), {
      method: "DELETE",
      json: { ...filter, count: [`${BULK_MAX}`], ...cursorField(cursor) },
    });
    count += deleted;
    return next;
  });
  return `Deleted: ${count}`;
}

async function repeat(once: (cursor: string | undefined) => Promise<string | undefined>): Promise<void> {
  let cursor = await once(undefined);
  while (cursor !== undefined) cursor = await once(cursor);
}

function cursorField(cursor: string | undefined): LetterFilter {
  return cursor === undefined ? {} : { cursor: [cursor] };
}
