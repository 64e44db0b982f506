/**
 * Whether the reply of a command that writes certainly fits what its caller can
 * be sent. If not, the command runs as a unit that can be undone: a pop whose
 * reply cannot be sent would lose what it took.
 *
 * The estimate reads no contents: a reply is at most a number of times as long as
 * the memory of the values at the keys of the command.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts, CommandRequest } from "../command-facts.ts";
import { findKeys } from "../commands/command-keys.ts";
import type { Keyspace } from "../keyspace.ts";
import { StreamValue } from "../values/stream.ts";
import { type Value, valueBytesOf } from "../values/table.ts";

/** A zero byte is six bytes in JSON, and a small number takes a few bytes of memory. */
const TIMES_MEMORY = 32;
/** An entry of a stream shares its names with other entries, but is printed with them. */
const TIMES_MEMORY_OF_STREAM = 256;
/** A word asks for at most one element that is not a stored value, such as a number of BITFIELD. */
const BYTES_PER_WORD = 32;
/** The replies of a command that returns no stored value are lists of numbers at most, limited by `ReplyBudget`. */
const NUMBERS_BYTES_MAX = 192 * 1024 * 1024;

export interface FitRequest {
  readonly command: CommandFacts;
  readonly words: CommandRequest;
}

/** Whether the reply of a command may have more than `bytesMax` bytes in some format. */
export function mayNotFit(keyspace: Keyspace, request: FitRequest, bytesMax: number): boolean {
  if (bytesMax === Number.POSITIVE_INFINITY || isShort(request.command, request.words, bytesMax)) return false;
  return !areShort(keyspace, request, bytesMax);
}

/** True if the words and the facts of a command say that its reply has at most `bytesMax` bytes in every format. */
function isShort(command: CommandFacts, request: CommandRequest, bytesMax: number): boolean {
  return (
    request.length * BYTES_PER_WORD <= bytesMax && bytesMax >= NUMBERS_BYTES_MAX && !returnsValues(command, request)
  );
}

/** True if the values at the keys of a command say the same. */
function areShort(keyspace: Keyspace, { command, words }: FitRequest, bytesMax: number): boolean {
  // What a script reads, its words do not say.
  if (command.runsScript || words.length * BYTES_PER_WORD > bytesMax) return false;
  const { keys } = command;
  if (keys.first === 1 && keys.last === 1) return isShortValue(keyspace.peek(words[1] as Bytes), bytesMax);
  return findKeys(command, words).keys.every(({ key }) => isShortValue(keyspace.peek(key), bytesMax));
}

function returnsValues(command: CommandFacts, request: CommandRequest): boolean {
  if (command.keyUsesWith === undefined) return command.returnsValues;
  for (const { isRead } of command.keyUsesWith(request)) if (isRead) return true;
  return false;
}

function isShortValue(value: Value | undefined, bytesMax: number): boolean {
  if (value === undefined) return true;
  const times = value instanceof StreamValue ? TIMES_MEMORY_OF_STREAM : TIMES_MEMORY;
  return valueBytesOf(value) * times <= bytesMax;
}
