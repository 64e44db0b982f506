/**
 * Prints float32 as the shortest decimal that reads back as the same float32,
 * spelled as JavaScript spells numbers: `0.1`, not `0.10000000149011612`. A
 * whole number ends in `.0`, because typed clients read `5` as an integer; -0 is
 * `-0.0`. Values that are not finite are `null`, as in JSON.stringify.
 */
import { floatTextModule } from "./module.ts";

/** The longest text of a float32, with the comma after it: `-100000000000000000000.0` has 24. */
export const FLOAT32_TEXT_BYTES_MAX = 25;

export function float32Text(value: number): string {
  const { exports, floats, bytes, valuesIndex, textAt } = floatTextModule();
  floats[valuesIndex] = value;
  return bytes.latin1Slice(textAt, textAt + exports.printFloats(1));
}

/** The text of each value. */
export function float32Texts(values: Float32Array): string[] {
  const { exports, floats, bytes, valuesIndex, textAt, printMax } = floatTextModule();
  const texts: string[] = [];
  for (let from = 0; from < values.length; from += printMax) {
    const part = values.subarray(from, from + printMax);
    floats.set(part, valuesIndex);
    texts.push(...bytes.latin1Slice(textAt, textAt + exports.printFloats(part.length)).split(","));
  }
  return texts;
}

/**
 * Writes the values with commas between them as ASCII into `target` from `at`
 * on, and returns where the text ends. `target` must have
 * FLOAT32_TEXT_BYTES_MAX bytes there for each value.
 */
export function writeFloat32List(values: Float32Array, target: Buffer, at: number): number {
  const { exports, floats, bytes, valuesIndex, textAt, printMax } = floatTextModule();
  let end = at;
  for (let from = 0; from < values.length; from += printMax) {
    if (from > 0) {
      target[end] = COMMA;
      end += 1;
    }
    const part = values.length <= printMax ? values : values.subarray(from, from + printMax);
    floats.set(part, valuesIndex);
    end += bytes.copy(target, end, textAt, textAt + exports.printFloats(part.length));
  }
  return end;
}

const COMMA = 0x2c;
