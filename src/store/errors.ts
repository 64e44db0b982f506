/**
 * Every error text of the store. Clients match on them, so wording and prefix
 * are those of Redis 7 except where the service differs (spec: store 1.1).
 *
 * Texts that never vary are built once and thrown as constants, as Redis does
 * with its shared replies. A `CommandError` carries no stack: it is an answer,
 * not a fault of ours.
 */

export class CommandError {
  /** The whole text, with its prefix (`ERR`, `WRONGTYPE`, …) and without a leading `-`. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const databaseDropped = new CommandError("ERR the database was deleted");
export const emptyCommand = new CommandError("ERR empty command");
export const syntaxError = new CommandError("ERR syntax error");
export const wrongType = new CommandError("WRONGTYPE Operation against a key holding the wrong kind of value");
export const notInteger = new CommandError("ERR value is not an integer or out of range");
export const outOfRange = new CommandError("ERR value is out of range, must be positive");
export const notFloat = new CommandError("ERR value is not a valid float");
export const overflow = new CommandError("ERR increment or decrement would overflow");
export const noSuchKey = new CommandError("ERR no such key");
export const stringTooLong = new CommandError("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
export const invalidCursor = new CommandError("ERR invalid cursor");
export const replyTooLarge = new CommandError("ERR reply exceeds the maximum allowed size");

export function wrongArity(name: string): CommandError {
  return new CommandError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
}

export function notAvailable(name: string): CommandError {
  return new CommandError(
    `ERR Command is not available: '${name.toUpperCase()}'. See https://upstash.com/docs/redis/overall/rediscompatibility for details`,
  );
}

export function invalidExpire(name: string): CommandError {
  return new CommandError(`ERR invalid expire time in '${name.toLowerCase()}' command`);
}

export function noPermission(name: string): CommandError {
  return new CommandError(
    `NOPERM this user has no permissions to run the '${name.toLowerCase()}' command or its subcommand`,
  );
}

export function unknownSubcommand(name: string, subcommand: string): CommandError {
  return new CommandError(`ERR unknown subcommand '${subcommand}'. Try ${name.toUpperCase()} HELP.`);
}

/** Nothing new can be written: the disk is full. Wording of Redis for a failing append-only file. */
export function diskRefusal(reason: string): CommandError {
  return new CommandError(`MISCONF Errors writing to the AOF file: ${reason}`);
}
