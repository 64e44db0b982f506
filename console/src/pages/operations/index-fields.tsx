/** The properties of a new index. */
import { Field } from "../../parts/field.tsx";

export function IndexFields() {
  return (
    <>
      <Field
        label="Dimensions"
        hint="Of its dense vectors; empty: fixed by the first record, or none in a sparse index"
      >
        <input name="dimension" type="number" min="1" />
      </Field>
      <Field label="Similarity">
        <select name="similarity">
          <option>COSINE</option>
          <option>EUCLIDEAN</option>
          <option>DOT_PRODUCT</option>
        </select>
      </Field>
      <Field label="Type">
        <select name="type">
          <option>DENSE</option>
          <option>SPARSE</option>
          <option>HYBRID</option>
        </select>
      </Field>
      <Field label="Further properties" hint="JSON, such as {&quot;recallTarget&quot;: 0.95}">
        <textarea name="further" rows={3} spellcheck={false} />
      </Field>
    </>
  );
}

/** The description of a new index as the admin port reads it. Throws an error if the further properties are not a JSON object. */
export function readIndex(data: FormData): Readonly<Record<string, unknown>> {
  const dimension = String(data.get("dimension") ?? "");
  const further = String(data.get("further") ?? "").trim();
  return {
    ...(dimension !== "" && { dimension: Number(dimension) }),
    type: data.get("type"),
    ...(data.get("type") !== "SPARSE" && { similarity: data.get("similarity") }),
    ...(further !== "" && readObject(further)),
  };
}

function readObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("the further properties must be a JSON object");
  return value;
}
