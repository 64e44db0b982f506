/** The records of the store itself: databases are created and dropped. Their frames have its number, not that of a database. */
import { assert } from "../../../kernel/assert.ts";
import { bytesFromText, textFromBytes } from "../../../kernel/bytes.ts";
import { FrameReader, type FrameWriter } from "../../../kernel/frame.ts";

/** In place of the number of a database. */
export const STORE_ITSELF = 0;

const CREATE_DATABASE = 1;
const DROP_DATABASE = 2;

export interface DatabaseChange {
  /** Never that of another database, also after it was dropped. */
  readonly number: number;
  /** Of a new database; undefined: it was dropped. */
  readonly name: string | undefined;
}

export function writeDatabaseChange(frame: FrameWriter, { number, name }: DatabaseChange): void {
  if (name === undefined) frame.record(STORE_ITSELF, DROP_DATABASE).number(number);
  else frame.record(STORE_ITSELF, CREATE_DATABASE).number(number).bytes(bytesFromText(name));
}

/** The changes of a frame of the store itself, in order; none if it is one of a database. */
export function* readDatabaseChanges(frame: Buffer): Generator<DatabaseChange> {
  const reader = new FrameReader(frame);
  if (reader.number() !== STORE_ITSELF) return;
  while (!reader.isAtEnd) {
    const code = reader.code();
    assert(code === CREATE_DATABASE || code === DROP_DATABASE, `store record code ${code} is known to this version`);
    const number = reader.number();
    yield { number, name: code === CREATE_DATABASE ? textFromBytes(reader.bytes()) : undefined };
  }
}
