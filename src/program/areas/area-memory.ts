/**
 * Divides the memory of the machine between the areas.
 *
 * (1) All areas together get three quarters of the memory that the process may
 *     use: the container's or the machine's. The rest is for the system, for code
 *     and young objects, and for bodies of pending requests.
 * (2) An area with a setting gets that much. The other areas share the rest:
 *     first as much as their stored data needs, then by weight. So a server that
 *     uses only one area gives it enough memory at the next start.
 * (3) Settings that exceed (1) are obeyed, with a warning: a limit is not a
 *     reservation, and swap or other processes are the operator's choice.
 * (4) Several threads of an area get equal parts of its memory, each with its own
 *     guard: a thread cannot count the objects of another one.
 * (5) Pending requests of an area hold at most a quarter of its memory, so that
 *     its data has the rest, but always enough for its largest request.
 */
import { totalmem } from "node:os";
import { IN_FLIGHT_BYTES_MAX } from "../../edge/http/listener.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import type { SettingName } from "../settings/settings.ts";
import { type AreaName, areaNames } from "./area.ts";

/** The memory limits of an area. */
export interface AreaMemory {
  /** Heap and memory outside the heap together, enforced by its guard. */
  readonly bytesMax: number;
  /** The limit of its thread's JavaScript heap. */
  readonly heapBytesMax: number;
}

export interface MemoryDivision {
  readonly areas: Readonly<Record<AreaName, AreaMemory>>;
  readonly bytesMax: number;
  /** Set if the settings exceed the memory. */
  readonly warning: string | undefined;
}

/** The share of the process' memory that all areas together may use. */
const MEMORY_SHARE = 3 / 4;
/** The least memory of an area. */
const AREA_BYTES_MIN = 64 * 2 ** 20;
/** Memory of an area's data per byte of its snapshot. */
const SNAPSHOT_FACTOR = 3;

/** The share of an area's memory that pending bodies and replies may hold. */
const UNDER_WAY_SHARE = 1 / 4;
/** A single tenant gets half of a budget (byte-budget.ts): twice the largest request, and an eighth for the others. */
const UNDER_WAY_REQUESTS_MIN = 9 / 4;

const weights: Readonly<Record<AreaName, number>> = { store: 0.4, messaging: 0.2, vector: 0.4 };

const memorySettings = {
  store: "storeMemoryBytesMax",
  messaging: "messagingMemoryBytesMax",
  vector: "vectorMemoryBytesMax",
} as const satisfies Record<AreaName, SettingName>;

/** The memory that the process may use: the container's or the machine's. */
export function allowedMemoryBytes(): number {
  const totalBytes = totalmem();
  const allowedBytes = process.constrainedMemory();
  // Without a limit the system reports none, or a number larger than the machine's memory.
  return allowedBytes > 0 && allowedBytes < totalBytes ? allowedBytes : totalBytes;
}

/** `snapshotBytes` are the sizes of each area's stored data, where known. */
export function divideMemory(
  { settings, origins }: Pick<RunSettings, "settings" | "origins">,
  { allowedBytes, snapshotBytes }: { allowedBytes: number; snapshotBytes: Readonly<Record<AreaName, number>> },
): MemoryDivision {
  const bytesMax = Math.floor(allowedBytes * MEMORY_SHARE);
  const named = (area: AreaName): number | undefined => settings[memorySettings[area]] ?? settings.heapBytesMax;
  const unnamed = areaNames.filter((area) => named(area) === undefined);
  const leftBytes = Math.max(0, bytesMax - sumOf(areaNames, (area) => named(area) ?? 0)); // keeps (1)
  const wanted = (area: AreaName): number => Math.max(AREA_BYTES_MIN, snapshotBytes[area] * SNAPSHOT_FACTOR);
  const wantedBytes = sumOf(unnamed, wanted);
  const weight = sumOf(unnamed, (area) => weights[area]);
  const spareBytes = Math.max(0, leftBytes - wantedBytes);
  // keeps (2)
  const shareOf = (area: AreaName): number => {
    if (wantedBytes > leftBytes) return (leftBytes * wanted(area)) / wantedBytes;
    return wanted(area) + (spareBytes * weights[area]) / weight;
  };
  const memoryOf = (area: AreaName): AreaMemory => {
    const given = named(area) ?? Math.max(AREA_BYTES_MIN, Math.floor(shareOf(area)));
    return { bytesMax: given, heapBytesMax: settings.heapBytesMax ?? given };
  };
  const areas = { store: memoryOf("store"), messaging: memoryOf("messaging"), vector: memoryOf("vector") };
  const givenBytes = sumOf(areaNames, (area) => Math.max(areas[area].bytesMax, areas[area].heapBytesMax));
  return { areas, bytesMax, warning: warningOf(givenBytes) };

  /** keeps (3) */
  function warningOf(bytes: number): string | undefined {
    if (bytes <= bytesMax) return undefined;
    const places = (["heapBytesMax", ...Object.values(memorySettings)] as const)
      .filter((name) => settings[name] !== undefined)
      .map((name) => origins[name].place);
    const remedy = places.length === 0 ? "give the process more memory" : `lower ${places.join(", ")}`;
    return `the areas may use ${inMb(bytes)} together, more than three quarters of the ${inMb(allowedBytes)} available to the process: ${remedy}`;
  }
}

/**
 * The memory limit of each thread of an area. Throws a `StartRefusal` if that is too little. `place` is the setting of the
 * number of threads. keeps (4)
 */
export function memoryOfThread(
  area: AreaName,
  bytesMax: number,
  { threadCount, place }: { readonly threadCount: number; readonly place: string },
): number {
  const partBytes = Math.floor(bytesMax / threadCount);
  if (threadCount === 1 || partBytes >= AREA_BYTES_MIN) return partBytes;
  throw new StartRefusal(
    `${place} leaves ${inMb(partBytes)} of memory for each of ${threadCount} threads of ${area}, which needs ${inMb(AREA_BYTES_MIN)}: lower it, or raise --${area}-memory`,
  );
}

/** The bytes that pending requests may hold in a thread whose areas have `bytesMax` together. keeps (5) */
export function underWayBytesMax({ bytesMax, requestBytesMax }: { bytesMax: number; requestBytesMax: number }): number {
  const wantedBytes = Math.max(bytesMax * UNDER_WAY_SHARE, requestBytesMax * UNDER_WAY_REQUESTS_MIN);
  return Math.floor(Math.min(IN_FLIGHT_BYTES_MAX, wantedBytes));
}

function inMb(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)}mb`;
}

function sumOf(areas: readonly AreaName[], bytesOf: (area: AreaName) => number): number {
  return areas.reduce((sum, area) => sum + bytesOf(area), 0);
}
