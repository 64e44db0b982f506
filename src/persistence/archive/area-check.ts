/** Whether the areas of a backup, or of a data directory, can be recovered: each is read as a start would read it. */

import type { OnBytes } from "../byte-progress.ts";
import { areaDirectory } from "../data-directory.ts";
import type { Disk } from "../disk.ts";
import { UnusableBackup } from "../errors.ts";
import { type AreaReport, inspectArea } from "../inspection.ts";
import type { Manifest } from "./manifest.ts";

/**
 * Reads every area that lies below `directory`. `manifest` says what has to be there. Rejects with an `UnusableBackup` that
 * names file and place, or with the system's error.
 */
export async function checkBackedUpAreas(
  disk: Disk,
  directory: string,
  { path, manifest, onBytes }: { path: string; manifest: Manifest; onBytes?: OnBytes | undefined },
): Promise<readonly AreaReport[]> {
  const reports: AreaReport[] = [];
  for (const { name, position } of manifest.areas) {
    const report = await inspectArea({ disk, directory: areaDirectory(directory, name), area: name, onBytes });
    if (report.fault !== undefined) throw new UnusableBackup(path, report.fault);
    if (report.position !== position) {
      throw new UnusableBackup(path, `${name} ends at position ${report.position} and not at ${position}`);
    }
    reports.push(report);
  }
  return reports;
}
