/** One record: its parts as JSON, to look at, change or delete; a new one has an empty id. */
import { useState } from "preact/hooks";
import { textOf, useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Editor } from "../../parts/editor.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { ALL_PARTS, callIndex, indexPage, type VectorRecord } from "./api.ts";

export interface EditRecordProps {
  readonly index: string;
  readonly namespace: string;
  readonly id: string;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

const NEW_RECORD = { id: "", vector: [], metadata: {} };

/** A record with neither has its text as `data`, of which the model of the index makes the vector. */
function hasVector(record: unknown): boolean {
  return typeof record !== "object" || record === null || "vector" in record || "sparseVector" in record;
}

export function EditRecord({ index, namespace, id, onClose, onChanged }: EditRecordProps) {
  const { value, error, isLoading } = useLoad(
    async (signal) => {
      if (id === "") return NEW_RECORD;
      const [record] = await callIndex<(VectorRecord | null)[]>(index, "fetch", {
        namespace,
        json: { ids: [id], ...ALL_PARTS },
        signal,
      });
      return record ?? undefined;
    },
    [index, namespace, id],
  );
  const [text, setText] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const save = async (): Promise<void> => {
    try {
      const record: unknown = JSON.parse(text ?? JSON.stringify(value));
      await callIndex(index, hasVector(record) ? "upsert" : "upsert-data", { namespace, json: record });
      onChanged();
    } catch (problem) {
      setFailure(textOf(problem));
    }
  };
  const like = indexPage(index, "query", { namespace, like: id });
  return (
    <Dialog
      title={id === "" ? "New record" : <bdi>{id}</bdi>}
      onClose={onClose}
      actions={
        <>
          {id !== "" && value !== undefined && (
            <>
              <a href={like}>Query like this record</a>
              <Action
                kind="danger"
                confirm="The record is deleted."
                run={async () => {
                  await callIndex(index, "delete", { namespace, json: { ids: [id] } });
                  onChanged();
                }}
              >
                Delete
              </Action>
            </>
          )}
          <Button kind="main" disabled={value === undefined} onClick={() => void save()}>
            Save
          </Button>
        </>
      }
    >
      {error !== undefined && <ErrorBox error={error} />}
      {value === undefined && error === undefined && !isLoading && <ErrorBox error="There is no such record." />}
      {failure !== undefined && <ErrorBox error={failure} />}
      {value === undefined && isLoading ? (
        <Loading />
      ) : (
        value !== undefined && (
          <>
            <Editor
              label="The record as JSON"
              language="json"
              isFirst
              value={text ?? JSON.stringify(value, undefined, 2)}
              onChange={setText}
            />
            <p class="hint">Without vector, the model of the index makes one from the text in data.</p>
          </>
        )
      )}
    </Dialog>
  );
}
