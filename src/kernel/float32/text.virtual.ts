/** The text of a float32 by a plain search, for tests. It is slow and exact. */

/**
 * The text of the float32 that is nearest to `value`. With one more digit each time, it looks at the decimals around it and
 * takes the nearest of those that read back as it, and of two the even one. `toPrecision` alone would take the larger one of two, and at a power of two it may miss the only one.
 */
export function plainFloat32Text(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const size = Math.abs(Math.fround(value));
  for (let digitCount = 1; ; digitCount += 1) {
    const [digits = "", exponent = ""] = size.toExponential(digitCount - 1).split("e");
    const power = Number(exponent) - digitCount + 1;
    const middle = BigInt(digits.replace(".", ""));
    const candidates = [middle - 1n, middle, middle + 1n]
      .filter((candidate) => candidate > 0n && Math.fround(Number(`${candidate}e${power}`)) === size)
      .map((candidate) => ({ candidate, distance: distance(size, candidate, power) }))
      .sort((a, b) => Number(a.distance - b.distance) || Number(a.candidate % 2n) - Number(b.candidate % 2n));
    const [best] = candidates;
    if (best === undefined) continue;
    const text = `${value < 0 ? "-" : ""}${Number(`${best.candidate}e${power}`)}`;
    return /[.e]/.test(text) ? text : `${text}.0`;
  }
}

/** |size - digits * 10^power|, exactly, times a constant factor: a float32 is a multiple of 2^-149. */
function distance(size: number, digits: bigint, power: number): bigint {
  const left = BigInt(size * 2 ** 149) * 10n ** 60n;
  const right = (digits << 149n) * 10n ** BigInt(60 + power);
  return left > right ? left - right : right - left;
}
