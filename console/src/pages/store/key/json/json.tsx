/** A JSON document: a tree whose levels come when they are opened, and an editor for the value at any path. */
import { useState } from "preact/hooks";
import { useLoad } from "../../../../api/load.ts";
import { Action } from "../../../../parts/action.tsx";
import { Button } from "../../../../parts/button.tsx";
import { bytesText, countNoun, countText } from "../../../../parts/format.ts";
import { ErrorBox, Loading } from "../../../../parts/states.tsx";
import { bytesOfText } from "../../values/bytes.ts";
import { ask } from "../../values/run.ts";
import { FilterField } from "../filter-field.tsx";
import type { ValueViewProps } from "../value-view.ts";
import { JsonEditor } from "./json-editor.tsx";
import { type JsonDocument, type JsonNode, readParts, readRoot } from "./json-nodes.ts";

/** Parts of a value that come at once. */
const PARTS = 50;

export function JsonView({ database, keyName, version, changed }: ValueViewProps) {
  const [path, setPath] = useState<string>();
  const root = useLoad((signal) => readRoot({ database, keyName }, signal), [database, keyName, version]);
  if (root.error !== undefined) return <ErrorBox error={root.error} onRetry={root.reload} />;
  if (root.value === undefined) return root.isLoading ? <Loading /> : <p>The document does not exist any more.</p>;
  return (
    <>
      <FilterField
        label="Path"
        action="Open"
        value={path ?? ""}
        placeholder="$.name"
        onChange={(next) => setPath(next.trim() || "$")}
      >
        <Button onClick={() => setPath("$")}>Whole document</Button>
      </FilterField>
      {path !== undefined && (
        <JsonEditor
          key={`${path} ${version}`}
          database={database}
          keyName={keyName}
          path={path}
          changed={changed}
          onClose={() => setPath(undefined)}
        />
      )}
      <ul class="json">
        <Node
          key={version}
          document={{ database, keyName }}
          node={root.value}
          isOpenAtFirst
          edit={setPath}
          changed={changed}
        />
      </ul>
    </>
  );
}

interface NodeProps {
  readonly document: JsonDocument;
  readonly node: JsonNode;
  readonly isOpenAtFirst?: boolean;
  readonly edit: (path: string) => void;
  readonly changed: () => void;
}

function Node({ document, node, isOpenAtFirst = false, edit, changed }: NodeProps) {
  const { path, label, kind, length = 0 } = node;
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const hasParts = (kind === "object" || kind === "array") && length > 0;
  const shownLabel = label === "" && path === "$" ? "$" : label === "" ? '""' : label;
  return (
    <li>
      <div class="json-row">
        {hasParts ? (
          <Button
            kind="quiet"
            aria-expanded={isOpen}
            label={`${isOpen ? "Close" : "Open"} ${shownLabel}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "▾" : "▸"}
          </Button>
        ) : (
          <span class="leaf" />
        )}
        <bdi class="json-label">{shownLabel}</bdi>
        <bdi class={`json-value ${kind}`}>{summaryOf(node)}</bdi>
        <Button kind="quiet" label={`Edit ${shownLabel}`} onClick={() => edit(path)}>
          Edit
        </Button>
        {path !== "$" && (
          <Action
            kind="quiet"
            confirm={`This removes ${path} from the document.`}
            run={async () => {
              await ask(document.database, ["JSON.DEL", document.keyName, bytesOfText(path)]);
              changed();
            }}
          >
            Remove
          </Action>
        )}
      </div>
      {isOpen && hasParts && <Parts document={document} node={node} edit={edit} changed={changed} />}
    </li>
  );
}

function Parts({ document, node, edit, changed }: NodeProps) {
  const [count, setCount] = useState(PARTS);
  const { length = 0 } = node;
  const parts = useLoad(
    (signal) => readParts(document, node, { from: 0, count, signal }),
    [document.database, document.keyName, node.path],
  );
  const [more, setMore] = useState<readonly JsonNode[]>([]);
  if (parts.error !== undefined) return <ErrorBox error={parts.error} onRetry={parts.reload} />;
  if (parts.value === undefined) return <Loading />;
  const readMore = async (): Promise<void> => {
    const { signal } = new AbortController();
    const next = await readParts(document, node, { from: count, count: PARTS * 2, signal });
    setMore([...more, ...next]);
    setCount(count + PARTS * 2);
  };
  return (
    <ul class="json">
      {[...parts.value, ...more].map((part) => (
        <Node key={part.path} document={document} node={part} edit={edit} changed={changed} />
      ))}
      {length > count && (
        <li>
          <Action kind="quiet" run={readMore}>
            Show more of {countText(length)}
          </Action>
        </li>
      )}
    </ul>
  );
}

function summaryOf({ kind, text, length = 0 }: JsonNode): string {
  if (text !== undefined) return text;
  if (kind === "object") return length === 0 ? "{}" : `{ ${countNoun(length, "members")} }`;
  if (kind === "array") return length === 0 ? "[]" : `[ ${countNoun(length, "elements")} ]`;
  return `string of ${bytesText(length)}`;
}
