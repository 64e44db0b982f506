/** The form for a new entry of a stream. */
import { useState } from "preact/hooks";
import { Action } from "../../../../parts/action.tsx";
import { Button } from "../../../../parts/button.tsx";
import { Dialog } from "../../../../parts/dialog.tsx";
import type { Bytes } from "../../values/bytes.ts";
import { BytesField } from "../../values/bytes-field.tsx";
import { ask, textOfReply } from "../../values/run.ts";

export interface StreamAddProps {
  readonly database: string;
  readonly keyName: Bytes;
  readonly changed: () => void;
  readonly onClose: () => void;
}

/** Field names and values in turn; undefined: not bytes in hex. */
type Typed = readonly (Bytes | undefined)[];

export function StreamAdd({ database, keyName, changed, onClose }: StreamAddProps) {
  const [id, setId] = useState<Bytes | undefined>("*");
  const [typed, setTyped] = useState<Typed>(["", ""]);
  const set = (index: number, bytes: Bytes | undefined): void =>
    setTyped((old) => old.map((one, at) => (at === index ? bytes : one)));
  return (
    <Dialog
      title="Add entry"
      onClose={onClose}
      actions={
        <Action
          kind="main"
          disabled={id === undefined || typed.includes(undefined)}
          run={async () => {
            const words = typed.map((one) => one ?? "");
            const given = await ask(database, ["XADD", keyName, "NOMKSTREAM", id ?? "*", ...words]);
            if (given === null) throw new Error("The key does not exist any more");
            changed();
            onClose();
            return `Added ${textOfReply(given)}`;
          }}
        >
          Add
        </Action>
      }
    >
      <BytesField label="Id" start="*" hint="* makes an id from the time" onChange={setId} />
      {Array.from({ length: typed.length / 2 }, (_, index) => (
        <div key={index} class="side-by-side">
          <BytesField label={`Field ${index + 1}`} onChange={(bytes) => set(index * 2, bytes)} />
          <BytesField label={`Value ${index + 1}`} onChange={(bytes) => set(index * 2 + 1, bytes)} />
        </div>
      ))}
      <Button onClick={() => setTyped((old) => [...old, "", ""])}>One more field</Button>
    </Dialog>
  );
}
