/** Damage of row files: what a crash, a bad disk or an operator may leave. */
import type { Random } from "../../../src/kernel/random.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";

const ZEROS_MAX = 200;
/** Numbers of files that no life reaches. */
const SPARE_NUMBER = 9_000;
const NUMBER = /-\d+$/;

/**
 * Flips, cuts off or zeroes a part of one of the files, replaces it by another one, copies it to the number of another
 * file, or removes it. Returns false if that changed nothing.
 */
export function damageRowFile(disk: SimulatedDisk, paths: readonly string[], random: Random): boolean {
  const path = paths[random.below(Math.max(1, paths.length))];
  if (path === undefined) return false;
  const bytes = disk.bytesOf(path);
  const at = random.below(Math.max(1, bytes.length));
  switch (random.below(6)) {
    case 0:
      if (bytes.length === 0) return false;
      disk.flipBit(path, at, random.below(8));
      return true;
    case 1:
      disk.put(path, bytes.subarray(0, at));
      return true;
    case 2:
      disk.put(path, bytes.fill(0, at, Math.min(bytes.length, at + random.below(ZEROS_MAX))));
      return true;
    case 3: {
      const other = paths[random.below(paths.length)] as string;
      disk.put(path, disk.bytesOf(other));
      return other !== path;
    }
    case 4:
      disk.put(path.replace(NUMBER, `-${SPARE_NUMBER + at}`), bytes);
      return true;
    default:
      disk.remove(path);
      return true;
  }
}
