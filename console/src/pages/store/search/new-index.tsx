/** The form for a new search index. */
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Field } from "../../../parts/field.tsx";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { bytesOfText } from "../values/bytes.ts";
import { ask } from "../values/run.ts";
import { indexPath } from "./indexes.tsx";

const TYPES = ["HASH", "JSON", "STRING"];

export function NewIndex({ database, onClose }: { database: string; onClose: () => void }) {
  const { route } = useLocation();
  const [name, setName] = useState("");
  const [type, setType] = useState("HASH");
  const [prefixes, setPrefixes] = useState("");
  const [language, setLanguage] = useState("english");
  const [schema, setSchema] = useState("title TEXT\nprice F64 FAST");
  const create = async (): Promise<string> => {
    const prefixList = prefixes.split(/\s+/).filter((one) => one !== "");
    // An empty field is the empty prefix, which every key has.
    const given = prefixList.length === 0 ? [""] : prefixList;
    const fields = schema.split(/\s+/).filter((word) => word !== "");
    const words = ["SEARCH.CREATE", name, "ON", type, "PREFIX", `${given.length}`, ...given];
    await ask(database, [...words, "LANGUAGE", language, "SCHEMA", ...fields].map(bytesOfText));
    route(indexPath(database, name));
    return "Created. Existing keys are read in the background.";
  };
  return (
    <FormDialog
      title="New index"
      submit="Create"
      isReady={name !== "" && schema.trim() !== ""}
      run={create}
      onClose={onClose}
    >
      <Field label="Name">
        <input value={name} spellcheck={false} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <div class="side-by-side">
        <Field label="Over keys of type">
          <select value={type} onChange={({ currentTarget }) => setType(currentTarget.value)}>
            {TYPES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Field>
        <Field label="Language">
          <input value={language} onInput={({ currentTarget }) => setLanguage(currentTarget.value.trim())} />
        </Field>
      </div>
      <Field label="Prefixes" hint="Apart by spaces; empty: all keys">
        <input value={prefixes} spellcheck={false} onInput={({ currentTarget }) => setPrefixes(currentTarget.value)} />
      </Field>
      <Field
        label="Fields"
        hint="A name, a type (TEXT, KEYWORD, U64, I64, F64, BOOL, DATE, FACET), and options such as FAST, NOSTEM or FROM path"
      >
        <textarea
          rows={6}
          value={schema}
          spellcheck={false}
          onInput={({ currentTarget }) => setSchema(currentTarget.value)}
        />
      </Field>
    </FormDialog>
  );
}
