/** The value at a path of a JSON document, in the editor. */
import { useState } from "preact/hooks";
import { useLoad } from "../../../../api/load.ts";
import { Action } from "../../../../parts/action.tsx";
import { Button } from "../../../../parts/button.tsx";
import { Code } from "../../../../parts/code.tsx";
import { Editor } from "../../../../parts/editor.tsx";
import { bytesText } from "../../../../parts/format.ts";
import { indentJson } from "../../../../parts/json-text.ts";
import { ErrorBox, Loading } from "../../../../parts/states.tsx";
import { type Bytes, bytesOfText } from "../../values/bytes.ts";
import { ask, listOf, numberOf } from "../../values/run.ts";
import { textOfOnly } from "./json-nodes.ts";

export interface JsonEditorProps {
  readonly database: string;
  readonly keyName: Bytes;
  readonly path: string;
  readonly changed: () => void;
  readonly onClose: () => void;
}

/** Memory of a value that comes into the editor. */
const EDITED_BYTES_MAX = 2_000_000;

type Found =
  | { readonly kind: "one" | "many"; readonly text: string }
  | { readonly kind: "none" }
  | { readonly kind: "too long"; readonly bytes: number };

export function JsonEditor({ database, keyName, path, changed, onClose }: JsonEditorProps) {
  const [typed, setTyped] = useState<string>();
  const found = useLoad((signal) => readAt({ database, keyName, path }, signal), [database, keyName, path]);
  if (found.error !== undefined) return <ErrorBox error={found.error} onRetry={found.reload} />;
  if (found.value === undefined) return <Loading />;
  const { value } = found;
  if (value.kind === "too long")
    return (
      <p class="hint">
        The value at {path} has {bytesText(value.bytes)}: too long to edit here. Open a part of it in the tree.
      </p>
    );
  if (value.kind === "many")
    return (
      <>
        <p class="hint">The path {path} matches several values:</p>
        <Code label={`Values at ${path}`} text={value.text} />
        <Button onClick={onClose}>Close</Button>
      </>
    );
  const start = value.kind === "one" ? value.text : "null";
  return (
    <section aria-label={`Value at ${path}`} class="json-editor">
      <p class="hint">
        {value.kind === "one" ? "Value at " : "No value yet at "}
        <code>{path}</code>
      </p>
      <Editor label={`Value at ${path}`} value={typed ?? start} language="json" onChange={setTyped} />
      <div class="below">
        <Action
          kind="main"
          run={async () => {
            const words = ["JSON.SET", keyName, bytesOfText(path), bytesOfText(typed ?? start)];
            if ((await ask(database, words)) === null) throw new Error("Nothing was set: the path has no parent");
            changed();
            onClose();
            return "Saved";
          }}
        >
          Save
        </Action>
        <Button onClick={onClose}>Close</Button>
      </div>
    </section>
  );
}

interface Place {
  readonly database: string;
  readonly keyName: Bytes;
  readonly path: string;
}

async function readAt({ database, keyName, path }: Place, signal: AbortSignal): Promise<Found> {
  if (!path.startsWith("$")) throw new Error(`A path begins with $, as in $.name: ${path}`);
  const place = bytesOfText(path);
  const sizes = listOf(await ask(database, ["JSON.DEBUG", "MEMORY", keyName, place], signal)).map(numberOf);
  if (sizes.length === 0) return { kind: "none" };
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > EDITED_BYTES_MAX) return { kind: "too long", bytes };
  const only = textOfOnly(await ask(database, ["JSON.GET", keyName, place], signal));
  if (sizes.length > 1) return { kind: "many", text: `[${only}]` };
  return { kind: "one", text: indentJson(only) ?? only };
}
