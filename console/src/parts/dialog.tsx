/** A question or a form above the page: the browser's own dialog, which keeps the keyboard inside and closes with Escape. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

export interface DialogProps {
  readonly title: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, actions, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  const id = useId();
  // At once: what is typed next is for the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    if (dialog?.open === false) dialog.showModal();
    return () => {
      // The event of this closing comes later, when another dialog may be in the place of this one.
      isGone.current = true;
      dialog?.close();
      // The keyboard goes back to what had it; that may be gone, for example with the row of a table.
      const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
      (isThere ? opener : document.getElementById("main"))?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={() => !isGone.current && onClose()}>
      <h2 id={id}>{title}</h2>
      <div class="dialog-body">{children}</div>
      <div class="actions">
        <Button onClick={onClose}>{actions === undefined || actions === false ? "Close" : "Cancel"}</Button>
        {actions}
      </div>
    </dialog>
  );
}
