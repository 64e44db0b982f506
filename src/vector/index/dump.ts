/**
 * The state of all indexes as frames that rebuild it, for a snapshot. Records are
 * in insertion order, so that they get the same order and places: after unused
 * places, a frame states the next place.
 */
import { FrameWriter } from "../../kernel/frame.ts";
import { type Change, writeChange } from "./changes.ts";
import { DEFAULT_NAMESPACE, type IndexState } from "./index-state.ts";
import type { Namespace } from "./namespace.ts";

/** A frame ends at this size, so that it is read in bounded pieces. */
const FRAME_BYTES = 256 * 1024;

/** Each frame is valid until the next one is requested. `nextNumber` is the number of the next index. */
export function* dumpIndexes(states: readonly IndexState[], nextNumber: number): Generator<Uint8Array> {
  const writer = new FrameWriter();
  writeChange(writer, { kind: "next index", index: nextNumber });
  for (const { number, name, definition } of states)
    writeChange(writer, { kind: "create index", index: number, name, definition });
  yield writer.take();
  for (const { number, namespaces, nextNamespace, nextVersion } of states) {
    writeChange(writer, { kind: "next numbers", index: number, namespace: nextNamespace, version: nextVersion });
    for (const namespace of namespaces) {
      if (namespace.name !== DEFAULT_NAMESPACE)
        writeChange(writer, {
          kind: "create namespace",
          index: number,
          namespace: namespace.number,
          name: namespace.name,
        });
      for (const change of recordsOf(number, namespace)) {
        writeChange(writer, change);
        if (writer.byteCount >= FRAME_BYTES) yield writer.take();
      }
      if (!writer.isEmpty) yield writer.take();
    }
  }
}

function* recordsOf(index: number, namespace: Namespace): Generator<Change> {
  const { table, metadata, sparse } = namespace;
  let nextPlace = 0;
  for (const record of table.order.from(0)) {
    const place = table.order.placeOf(record);
    if (place !== nextPlace) yield { kind: "next place", index, namespace: namespace.number, place };
    nextPlace = place + 1;
    const vector = namespace.vectorNow(record);
    yield {
      kind: "put",
      index,
      namespace: namespace.number,
      put: {
        id: table.idOf(record) ?? "",
        isWhole: true,
        vector,
        version: vector === undefined ? 0 : table.versionOf(record),
        sparseVector: sparse.read(record),
        metadata: metadata.text(record),
        data: table.dataOf(record),
      },
    };
  }
  if (table.order.nextPlace !== nextPlace)
    yield { kind: "next place", index, namespace: namespace.number, place: table.order.nextPlace };
}
