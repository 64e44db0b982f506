/**
 * Names of modules in Redis' files: letters of six bits each.
 *
 *     id of a type of values      u64   name of 9 letters, version of 10 bits
 *     class of key metadata       u32   name of 4 letters, version of 5 bits, flags of 3 bits
 */
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const TYPE_LETTERS = `${LETTERS}-_`;
const CLASS_LETTERS = `${LETTERS}_-`;
const TYPE_NAME_LENGTH = 9;
const TYPE_VERSION_BITS = 10n;
const CLASS_NAME_LENGTH = 4;
const CLASS_VERSION_AND_FLAG_BITS = 8n;
const IGNORABLE = 1;

/** The name of the module that a value belongs to, from the id of its type. */
export function moduleName(id: bigint): string {
  return nameFrom(id >> TYPE_VERSION_BITS, { length: TYPE_NAME_LENGTH, letters: TYPE_LETTERS });
}

export interface MetadataClass {
  readonly name: string;
  /** Whether a server without the module may drop the metadata. */
  readonly isIgnorable: boolean;
}

export function metadataClass(word: number): MetadataClass {
  const options = { length: CLASS_NAME_LENGTH, letters: CLASS_LETTERS };
  return {
    name: nameFrom(BigInt(word) >> CLASS_VERSION_AND_FLAG_BITS, options),
    isIgnorable: (word & IGNORABLE) !== 0,
  };
}

function nameFrom(bits: bigint, { length, letters }: { length: number; letters: string }): string {
  let left = bits;
  let name = "";
  for (let i = 0; i < length; i += 1) {
    name = `${letters[Number(left & 63n)]}${name}`;
    left >>= 6n;
  }
  return name;
}
