/**
 * Libraries of functions in the format of Redis' files, for FUNCTION DUMP and
 * RESTORE.
 *
 *     | 245, code | 245, code | … | version u16 | CRC-64 of all before it |      lowest byte first
 *
 * The code of a library, with its first line, is a string as in any dump.
 */
import { type Bytes, bytesFrom } from "../../../kernel/bytes.ts";
import { CommandError } from "../../errors.ts";
import { restoredLibraryUnreadable, restoredTypeTooOld, restoredTypeWrong } from "../../scripting/script-errors.ts";
import { closePayload, openPayload } from "./payload-footer.ts";
import { PayloadReader } from "./payload-reader.ts";
import { PayloadWriter } from "./payload-writer.ts";

const LIBRARY = 245;
/** Written by a release candidate of Redis 7.0. */
const LIBRARY_BEFORE_RELEASE = 246;
/** The version of Redis 7.0. */
const VERSION = 10;

export function writeLibraries(codes: readonly Bytes[]): Buffer {
  const writer = new PayloadWriter();
  for (const code of codes) writer.byte(LIBRARY).string(code);
  return closePayload(writer, VERSION);
}

/**
 * The code of each library of a dump.
 *
 * @throws {CommandError} if it is invalid, in the words of Redis
 */
export function readLibraries(payload: Buffer): Bytes[] {
  const { content } = openPayload(payload);
  const reader = new PayloadReader(content);
  const codes: Bytes[] = [];
  while (!reader.isAtEnd) {
    const type = reader.byte();
    if (type === LIBRARY_BEFORE_RELEASE) throw restoredTypeTooOld;
    if (type !== LIBRARY) throw restoredTypeWrong;
    codes.push(readCode(reader));
  }
  return codes;
}

function readCode(reader: PayloadReader): Bytes {
  try {
    const code = reader.string();
    return typeof code === "string" ? code : bytesFrom(code);
  } catch (error) {
    throw error instanceof CommandError ? restoredLibraryUnreadable : error;
  }
}
