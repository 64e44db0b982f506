/**
 * The place of a copy: objects under names, as S3 and a directory have them.
 *
 * (1) An object is written once, as a whole, and never changes: `putNew` refuses a
 *     name that is taken, also by an earlier call whose answer was lost.
 * (2) A reader sees all of an object or none of it, as soon as `putNew` has returned.
 * (3) A call that is repeated has the effect of one call.
 *
 * Names are made by larder: printable ASCII without `//`, relative to the prefix of
 * the copy. Their order is that of their bytes.
 */

/** An object that is listed. */
export interface ListedObject {
  readonly name: string;
  readonly bytes: number;
}

/** The bytes of a new object, read once for each attempt to send them. */
export interface ObjectContent {
  readonly bytes: number;
  /** The SHA-256 of all bytes in hexadecimal digits, if it is known. */
  readonly sha256?: string;
  /**
   * Reads the bytes from `start` (included) to `end` (excluded), into `into` if that is given, which has enough space. Rejects
   * with the error of the file.
   */
  read(start: number, end: number, into?: Buffer): Promise<Buffer>;
}

export interface ObjectStore {
  /**
   * Stores a new object; `exists`: the name was taken, and nothing was changed. Rejects with `ObjectStoreFailure`, and then the
   * object is there or not.
   */
  putNew(name: string, content: ObjectContent): Promise<"stored" | "exists">;
  /** Some bytes of an object, fewer at its end; undefined if there is no such object. */
  get(name: string, range: { readonly start: number; readonly end: number }): Promise<Buffer | undefined>;
  /** The next objects in the order of their names, at most 1,000: those that begin with `prefix` and come after `after`. */
  list(prefix: string, after?: string): Promise<readonly ListedObject[]>;
  /** Removes objects that exist, at most 1,000. */
  remove(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Why a call of a store failed. */
export type FailureKind =
  /** It may succeed later: no answer, 5xx, too many requests. */
  | "unavailable"
  /** The credentials or the rights are wrong, the bucket does not exist, the disk is full: somebody must do something. */
  | "refused"
  /** The answer or the object is not what it must be. */
  | "damaged";

/** Its message names the store and the object, and has no secret in it. */
export class ObjectStoreFailure extends Error {
  override name = "ObjectStoreFailure";
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** An object whose bytes are in memory. */
export function contentOf(bytes: Buffer): ObjectContent {
  return { bytes: bytes.length, read: (start, end) => Promise.resolve(bytes.subarray(start, end)) };
}

/** Reads some of the content. Rejects with its error, also if it is shorter than it was. */
export async function readContent(
  content: ObjectContent,
  { start, end, into }: { readonly start: number; readonly end: number; readonly into?: Buffer },
): Promise<Buffer> {
  const bytes = await content.read(start, end, into);
  if (bytes.length !== end - start)
    throw new Error(`The content of an object has ${bytes.length} bytes at ${start} in place of ${end - start}`);
  return bytes;
}
