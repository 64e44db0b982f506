import { storePath } from "../keys/key-address.ts";
import { textOfBytes } from "../values/bytes.ts";
import type { ValueViewProps } from "./value-view.ts";

/** A search index has a page of its own. */
export function SearchIndexView({ database, keyName }: ValueViewProps) {
  const name = textOfBytes(keyName);
  if (name === undefined) return <p>The name of this index is not UTF-8: use it from a program.</p>;
  return (
    <p>
      This key is a search index.{" "}
      <a href={storePath(database, `search/index?name=${encodeURIComponent(name)}`)}>Open it</a>
    </p>
  );
}
