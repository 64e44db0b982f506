/** What a page shows instead of its content. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "./button.tsx";

/** After this time a page says whose answer it waits for. */
const SLOW_MS = 5_000;

export function Loading() {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="loading" role="status">
      {isSlow ? "Still waiting for the answer of larder, which may be starting or busy…" : "Loading…"}
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
