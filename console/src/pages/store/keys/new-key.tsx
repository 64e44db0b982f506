/** The form for a new key of any type. */
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Field } from "../../../parts/field.tsx";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import type { Bytes } from "../values/bytes.ts";
import { BytesField } from "../values/bytes-field.tsx";
import { ask } from "../values/run.ts";
import { keyPath } from "./key-address.ts";
import { type KeyType, keyTypes, type StartField } from "./key-types.ts";

export interface NewKeyProps {
  readonly database: string;
  readonly start: Bytes;
  readonly onClose: () => void;
}

/** By field; undefined: not bytes in hex. */
type TypedValues = Readonly<Record<string, Bytes | undefined>>;

const newTypes = keyTypes.filter(({ words }) => words !== undefined);

export function NewKey({ database, start, onClose }: NewKeyProps) {
  const { route } = useLocation();
  const [name, setName] = useState<Bytes | undefined>(start);
  const [typeName, setTypeName] = useState("string");
  const [values, setValues] = useState<TypedValues>({});
  const [seconds, setSeconds] = useState("");
  const type = newTypes.find((one) => one.name === typeName);
  const fields = type?.fields ?? [];
  const idOf = ({ label }: StartField): string => `${typeName} ${label}`;
  const typed = fields.map((field) => typedValue(values, idOf(field), field));
  const isReady = name !== undefined && typed.every((value) => value !== undefined);
  const create = async (): Promise<string> => {
    if (name === undefined || type === undefined) throw new Error("The form is not complete");
    await createKey(database, { name, type, values: typed.map((value) => value ?? ""), seconds });
    route(keyPath(database, name));
    return "Created";
  };
  return (
    <FormDialog title="New key" submit="Create" isReady={isReady} run={create} onClose={onClose}>
      <BytesField label="Name" start={start} onChange={setName} />
      <div class="side-by-side">
        <Field label="Type">
          <select value={typeName} onChange={({ currentTarget }) => setTypeName(currentTarget.value)}>
            {newTypes.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Expires after" hint="In seconds; empty: never">
          <input
            inputMode="numeric"
            value={seconds}
            onInput={({ currentTarget }) => setSeconds(currentTarget.value.trim())}
          />
        </Field>
      </div>
      {fields.map((field) => (
        <BytesField
          key={idOf(field)}
          label={field.label}
          isLong={field.isLong === true}
          start={field.start ?? ""}
          onChange={(value) => setValues((old) => ({ ...old, [idOf(field)]: value }))}
        />
      ))}
    </FormDialog>
  );
}

/** What was typed into a field, or its start. */
function typedValue(all: TypedValues, id: string, { start = "" }: StartField): Bytes | undefined {
  return id in all ? all[id] : start;
}

interface KeyToCreate {
  readonly name: Bytes;
  readonly type: KeyType;
  readonly values: readonly Bytes[];
  /** Empty: no expiry. */
  readonly seconds: string;
}

async function createKey(database: string, { name, type, values, seconds }: KeyToCreate): Promise<void> {
  if (seconds !== "" && !/^[1-9]\d*$/.test(seconds)) throw new Error("Expires after must be a whole number of seconds");
  if (type.words === undefined) throw new Error(`A ${type.title} is not made here`);
  if ((await ask(database, ["EXISTS", name])) !== 0) throw new Error("A key with this name exists");
  await ask(database, type.words(name, values));
  if (seconds !== "") await ask(database, ["EXPIRE", name, seconds]);
}
