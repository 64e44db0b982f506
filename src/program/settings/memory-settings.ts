/** Rows of the settings that divide memory between the areas (area-memory.ts). */
import type { Setting } from "./setting.ts";
import { orAuto, parseSize } from "./values.ts";

const MB = 2 ** 20;
const GB = 2 ** 30;

/** What `auto` means for the memory of an area. */
const SHARED_MEMORY =
  "before it is used up, the tenant that uses the most may not grow; auto is its share of three quarters of the memory that the process may use";

const parseAreaSize = orAuto(parseSize(64 * MB, 1024 * GB));

export const memorySettingRows = {
  heapBytesMax: {
    group: "Limits",
    flag: "--heap-limit",
    environment: ["LARDER_HEAP_LIMIT"],
    fileKey: "heapLimit",
    argument: "<size>|auto",
    meaning: "Largest JavaScript heap of each area's thread; auto is the memory of its area",
    default: "auto",
    parse: parseAreaSize,
  },
  storeMemoryBytesMax: {
    group: "Limits",
    flag: "--store-memory",
    environment: ["LARDER_STORE_MEMORY"],
    fileKey: "storeMemory",
    argument: "<size>|auto",
    meaning: `Most memory of the store, its heap and large values; ${SHARED_MEMORY}`,
    default: "auto",
    parse: parseAreaSize,
  },
  messagingMemoryBytesMax: {
    group: "Limits",
    flag: "--messaging-memory",
    environment: ["LARDER_MESSAGING_MEMORY"],
    fileKey: "messagingMemory",
    argument: "<size>|auto",
    meaning: "The same for messaging: waiting messages, dead letters, runs",
    default: "auto",
    parse: parseAreaSize,
  },
  vectorMemoryBytesMax: {
    group: "Limits",
    flag: "--vector-memory",
    environment: ["LARDER_VECTOR_MEMORY"],
    fileKey: "vectorMemory",
    argument: "<size>|auto",
    meaning: "The same for the vector index: vectors, graphs, metadata",
    default: "auto",
    parse: parseAreaSize,
  },
} as const satisfies Record<string, Setting<unknown>>;
