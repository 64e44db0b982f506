/** Short notes about what happened; the last four. */
import { signal } from "@preact/signals";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
let nextId = 1;

export function toast(text: string, { isError = false } = {}): void {
  const id = nextId++;
  toasts.value = [...toasts.value.slice(-3), { id, text, isError }];
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  }, SHOWN_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isError }) => (
        <p key={id} class={isError ? "bad" : ""}>
          {text}
        </p>
      ))}
    </div>
  );
}
