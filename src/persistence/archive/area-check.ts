/** Checks that the areas of a backup or a data directory can be recovered: reads each one as a start would. */

import type { OnBytes } from "../byte-progress.ts";
import { areaDirectory } from "../data-directory.ts";
import type { Disk } from "../disk/disk.ts";
import { UnusableBackup } from "../errors.ts";
import { type AreaReport, type InspectedEngine, inspectArea } from "../inspection.ts";
import type { Manifest } from "./manifest.ts";

export interface AreaCheckOptions {
  readonly path: string;
  readonly manifest: Manifest;
  readonly onBytes?: OnBytes | undefined;
  /** Receives the frames of an area that reads parts of segments by their location. */
  readonly engineOf?: ((area: string) => InspectedEngine | undefined) | undefined;
}

/**
 * Reads every area below `directory`. `manifest` says what it must have. Rejects with an `UnusableBackup` that names
 * the file and the byte, or with the system's error.
 */
export async function checkBackedUpAreas(
  disk: Disk,
  directory: string,
  { path, manifest, onBytes, engineOf }: AreaCheckOptions,
): Promise<readonly AreaReport[]> {
  const reports: AreaReport[] = [];
  for (const { name, position } of manifest.areas) {
    const where = { disk, directory: areaDirectory(directory, name), area: name };
    const report = await inspectArea({ ...where, onBytes, engine: engineOf?.(name) });
    if (report.fault !== undefined) throw new UnusableBackup(path, report.fault);
    if (report.position !== position) {
      throw new UnusableBackup(path, `${name} ends at position ${report.position}, not at ${position}`);
    }
    reports.push(report);
  }
  return reports;
}
