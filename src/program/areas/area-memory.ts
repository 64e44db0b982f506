/**
 * How the memory of the machine is divided between the areas.
 *
 * (1) All areas together get three quarters of what the process may use: the
 *     container's memory, or the machine's. The rest is for the system, for
 *     code and young objects, and for bodies under way.
 * (2) What a setting names is given. The other areas share what is left: first
 *     as much as what they have kept needs, then by weight. So a server that
 *     uses one area alone gives it what it grew to at the next start.
 * (3) Settings that ask for more than (1) are obeyed, with a warning: a limit is
 *     no reservation, and swap or other processes are the operator's business.
 * (4) Requests under way in an area hold at most a quarter of its memory, so
 *     that its data has the rest, but never so little that its largest request
 *     does not fit.
 */
import { totalmem } from "node:os";
import { IN_FLIGHT_BYTES_MAX } from "../../edge/http/listener.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import type { SettingName } from "../settings/settings.ts";
import { type AreaName, areaNames } from "./area.ts";

/** What an area may have. */
export interface AreaMemory {
  /** Heap and what lies outside of it together, as its guard holds it. */
  readonly bytesMax: number;
  /** Of its thread's JavaScript heap. */
  readonly heapBytesMax: number;
}

export interface MemoryDivision {
  readonly areas: Readonly<Record<AreaName, AreaMemory>>;
  readonly bytesMax: number;
  /** Set when the settings ask for more than there is. */
  readonly warning: string | undefined;
}

/** How much of the memory that the process may use all areas together may take. */
const MEMORY_SHARE = 3 / 4;
/** No area gets less. */
const AREA_BYTES_MIN = 64 * 2 ** 20;
/** In memory a snapshot takes about so much of its bytes. */
const SNAPSHOT_FACTOR = 3;

/** How much of an area's memory bodies under way and replies that wait may hold. */
const UNDER_WAY_SHARE = 1 / 4;
/** A tenant alone gets half of a budget (byte-budget.ts): twice the largest request, and an eighth for the others. */
const UNDER_WAY_REQUESTS_MIN = 9 / 4;

const weights: Readonly<Record<AreaName, number>> = { store: 0.4, messaging: 0.2, vector: 0.4 };

const memorySettings = {
  store: "storeMemoryBytesMax",
  messaging: "messagingMemoryBytesMax",
  vector: "vectorMemoryBytesMax",
} as const satisfies Record<AreaName, SettingName>;

/** What the process may use: the container's memory, or the machine's. */
export function allowedMemoryBytes(): number {
  const totalBytes = totalmem();
  const allowedBytes = process.constrainedMemory();
  // Without a limit the system reports none, or a number beyond what the machine has.
  return allowedBytes > 0 && allowedBytes < totalBytes ? allowedBytes : totalBytes;
}

/** `snapshotBytes` are what each area has kept, as far as that is known. */
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
    return `the areas may take ${inMb(bytes)} together, more than three quarters of the ${inMb(allowedBytes)} that the process may use: ${remedy}`;
  }
}

/** What requests under way may hold in a thread whose areas have `bytesMax` together. keeps (4) */
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
