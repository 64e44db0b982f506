/** The view of each type of value, and the command for its length. */
import type { ComponentType } from "preact";
import type { Words } from "../values/run.ts";
import { HashView } from "./hash.tsx";
import { JsonView } from "./json/json.tsx";
import { ListView } from "./list.tsx";
import { SearchIndexView } from "./search-index.tsx";
import { SetView } from "./set.tsx";
import { SortedSetView } from "./sorted-set.tsx";
import { StreamView } from "./stream/stream.tsx";
import { StringView } from "./string.tsx";
import type { ValueViewProps } from "./value-view.ts";

export interface ValueView {
  /** As TYPE returns it. */
  readonly type: string;
  /** What `length` counts; absent: the type has no length. */
  readonly unit?: string;
  /** Before the key. */
  readonly length?: Words;
  readonly View: ComponentType<ValueViewProps>;
}

export const valueViews: readonly ValueView[] = [
  { type: "string", unit: "bytes", length: ["STRLEN"], View: StringView },
  { type: "hash", unit: "fields", length: ["HLEN"], View: HashView },
  { type: "list", unit: "elements", length: ["LLEN"], View: ListView },
  { type: "set", unit: "members", length: ["SCARD"], View: SetView },
  { type: "zset", unit: "members", length: ["ZCARD"], View: SortedSetView },
  { type: "stream", unit: "entries", length: ["XLEN"], View: StreamView },
  { type: "ReJSON-RL", View: JsonView },
  { type: "search", View: SearchIndexView },
];
