/** What can be done with a key as a whole: rename, expiry, delete. */
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Action } from "../../../parts/action.tsx";
import { Button } from "../../../parts/button.tsx";
import { keyPath, storePath } from "../keys/key-address.ts";
import type { Bytes } from "../values/bytes.ts";
import { BytesDialog } from "../values/bytes-dialog.tsx";
import { ask } from "../values/run.ts";

export interface KeyActionsProps {
  readonly database: string;
  readonly keyName: Bytes;
  /** Unix ms; undefined: no expiry. */
  readonly expiresAtMs: number | undefined;
  readonly changed: () => void;
}

export function KeyActions({ database, keyName, expiresAtMs, changed }: KeyActionsProps) {
  const { route } = useLocation();
  const [asking, setAsking] = useState<"rename" | "expire">();
  const close = (): void => setAsking(undefined);
  return (
    <>
      <Button onClick={changed}>Refresh</Button>
      <Button onClick={() => setAsking("rename")}>Rename</Button>
      <Button onClick={() => setAsking("expire")}>Expire</Button>
      {expiresAtMs !== undefined && (
        <Action
          run={async () => {
            await ask(database, ["PERSIST", keyName]);
            changed();
          }}
        >
          Persist
        </Action>
      )}
      <Action
        kind="danger"
        confirm="This deletes the key with its value."
        run={async () => {
          await ask(database, ["UNLINK", keyName]);
          route(storePath(database, "keys"));
          return "Deleted";
        }}
      >
        Delete
      </Action>
      {asking === "rename" && (
        <BytesDialog
          title="Rename the key"
          action="Rename"
          fields={[{ label: "New name", start: keyName }]}
          submit={async ([name = ""]) => {
            if (name === keyName) return;
            const isRenamed = (await ask(database, ["RENAMENX", keyName, name])) === 1;
            if (!isRenamed) throw new Error("A key with this name exists");
            route(keyPath(database, name), true);
          }}
          onClose={close}
        />
      )}
      {asking === "expire" && (
        <BytesDialog
          title="Set the expiry"
          action="Set"
          fields={[{ label: "Expires after", start: "3600", hint: "In seconds" }]}
          submit={async ([seconds = ""]) => {
            if (!/^[1-9]\d*$/.test(seconds))
              throw new Error("Expires after must be a whole number of seconds, at least 1");
            await ask(database, ["EXPIRE", keyName, seconds]);
            changed();
          }}
          onClose={close}
        />
      )}
    </>
  );
}
