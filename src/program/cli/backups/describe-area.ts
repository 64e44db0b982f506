/** The line of the commands that read the stored data of an area. */
import type { AreaReport } from "../../../persistence/inspection.ts";

/** One line about an area that a start would read. */
export function describeArea({ area, covered, frames, position, segments, snapshot, tail }: AreaReport): string {
  const bytes = segments.reduce((sum, segment) => sum + segment.bytes, snapshot?.bytes ?? 0);
  const parts = [
    `${frames} frames in ${bytes} bytes to replay`,
    snapshot === undefined ? "no snapshot" : `snapshot ${snapshot.number}`,
    `${segments.length} segments`,
    `position ${position}`,
  ];
  if (covered.length > 0) {
    const coveredBytes = covered.reduce((sum, segment) => sum + segment.bytes, 0);
    parts.push(`${covered.length} older segments of ${coveredBytes} bytes that are not replayed`);
  }
  if (tail !== undefined) {
    parts.push(`a crash left ${tail.bytes} bytes after the last complete frame, which the next start removes`);
  }
  return `${area}: ${parts.join(", ")}`;
}
