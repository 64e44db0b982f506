/** Whether the areas of a backup, or of a data directory, can be recovered: each is read as a start would read it. */

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
  /** Takes the frames of an area that reads parts of segments by their place. */
  readonly engineOf?: ((area: string) => InspectedEngine | undefined) | undefined;
}

/**
 * Reads every area that lies below `directory`. `manifest` says what has to be there. Rejects with an `UnusableBackup` that
 * names file and place, or with the system's error.
 */
export async function checkBackedUpAreas(
  disk: Disk,
  directory: string,
  { path, manifest, onBytes, engineOf }: AreaCheckOptions,
): Promise<readonly AreaReport[]> {
  const reports: AreaReport[] = [];
  for (const { name, position } of manifest.areas) {
    const place = { disk, directory: areaDirectory(directory, name), area: name };
    const report = await inspectArea({ ...place, onBytes, engine: engineOf?.(name) });
    if (report.fault !== undefined) throw new UnusableBackup(path, report.fault);
    if (report.position !== position) {
      throw new UnusableBackup(path, `${name} ends at position ${report.position} and not at ${position}`);
    }
    reports.push(report);
  }
  return reports;
}
