/** Below a list that comes page by page: how many rows are here, a failure, and going on. */
import { Button } from "../../../parts/button.tsx";
import { countNoun, countText } from "../../../parts/format.ts";
import { ErrorBox } from "../../../parts/states.tsx";
import type { Pages } from "../values/pages.ts";

export function ListFoot({ pages, of, noun }: { pages: Pages<unknown>; of?: number; noun: string }) {
  const isWaiting = !pages.isComplete && !pages.isLoading && pages.onEnd === undefined && pages.error === undefined;
  return (
    <>
      {pages.error !== undefined && <ErrorBox error={pages.error} onRetry={pages.more} />}
      <p class="below" role="status">
        {pages.isLoading && pages.rows.length > 0 && "Loading…"}
        {!pages.isLoading && (pages.error === undefined || pages.rows.length > 0) && (
          <span>
            {countNoun(pages.rows.length, noun)}
            {pages.isComplete ? "" : of === undefined ? " so far" : ` of ${countText(of)}`}
          </span>
        )}
        {isWaiting && <Button onClick={pages.more}>Search on</Button>}
      </p>
    </>
  );
}
