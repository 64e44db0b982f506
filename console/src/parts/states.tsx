/** What a page shows instead of its content. */
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

export function ErrorBox({ error, onRetry }: { error: string; onRetry?: () => void }) {
  return (
    <div class="error" role="alert">
      <span>{error}</span>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** A list without rows: says what would be in it, and how it gets there. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}
