/** A HyperLogLog: its count, and a field to add an element. */
import { useLoad } from "../../../api/load.ts";
import { countText } from "../../../parts/format.ts";
import { ErrorBox, Loading } from "../../../parts/states.tsx";
import { BytesFormButton } from "../values/bytes-dialog.tsx";
import { ask, numberOf } from "../values/run.ts";
import type { ValueViewProps } from "./value-view.ts";

export function HyperLogLog({ database, keyName, version, changed }: ValueViewProps) {
  const count = useLoad((signal) => ask(database, ["PFCOUNT", keyName], signal), [database, keyName, version]);
  if (count.error !== undefined) return <ErrorBox error={count.error} onRetry={count.reload} />;
  if (count.value === undefined) return <Loading />;
  return (
    <>
      <p>
        About <strong>{countText(numberOf(count.value))}</strong> distinct elements, with a standard error of 0.81 %.
        The elements themselves are not stored.
      </p>
      <BytesFormButton
        title="Add element"
        action="Add"
        fields={[{ label: "Element" }]}
        submit={async (values) => {
          const isChanged = (await ask(database, ["PFADD", keyName, ...values])) === 1;
          changed();
          return isChanged ? "Added" : "The count stays the same";
        }}
      />
    </>
  );
}
