/** The value of a sensitive header or a token: hidden until a click, which the server notes in the audit log. */
import { useState } from "preact/hooks";
import { request } from "../api/client.ts";
import { Action } from "./action.tsx";
import { Copy } from "./copy.tsx";

/** `what`: which value, for the audit log; never the value itself. */
export function Secret({ value, what }: { value: string; what: string }) {
  const [isShown, setShown] = useState(false);
  if (isShown)
    return (
      <span class="secret">
        <code>{value}</code> <Copy text={value} />
      </span>
    );
  return (
    <span class="secret">
      <span aria-hidden="true">••••••••</span>{" "}
      <Action
        kind="quiet"
        run={async () => {
          await request("reveal", { json: { what } });
          setShown(true);
        }}
      >
        Show
      </Action>
    </span>
  );
}

const SENSITIVE = /auth|cookie|token|secret|passw|session|jwt|(?:api|access|private)[-_]?key|signature|credential/i;

/** Whether the value of a header is hidden. */
export function isSensitive(header: string): boolean {
  return SENSITIVE.test(header);
}
