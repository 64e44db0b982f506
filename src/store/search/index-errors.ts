/** The errors of indexes and aliases. Texts name fields and options, and never repeat documents. */
import { type Bytes, onOneLine } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";

/** A SEARCH.CREATE that is wrong. Clients tell it by its beginning. */
export function createRefused(reason: string): CommandError {
  return new CommandError(`ERR syntax error: ${reason}`);
}

/** `what`: index, alias, field, path or prefix. */
export function nameTooLong(what: string, bytesMax: number): CommandError {
  return new CommandError(`ERR the ${what} is longer than ${bytesMax} bytes`);
}

/** Wording of the service. */
export function indexExists(name: Bytes): CommandError {
  return new CommandError(`ERR Index ${onOneLine(name)} already exists`);
}

/** Wording of the service. */
export function tooManyIndexes(countMax: number): CommandError {
  return new CommandError(`ERR Exceeded max index count of ${countMax}`);
}

export function tooManyAliases(countMax: number): CommandError {
  return new CommandError(`ERR Exceeded max alias count of ${countMax}`);
}

export function indexRebuilding(name: Bytes): CommandError {
  return new CommandError(
    `ERR Index ${onOneLine(name)} is being rebuilt after a start. Outside of transactions and scripts, commands wait for it`,
  );
}

export const waitInUnit = new CommandError(
  "ERR SEARCH.WAITINDEXING and SEARCH.REINDEX cannot be used in transactions and scripts",
);

export function searchesOfUnitTooLong(stepsMax: number): CommandError {
  return new CommandError(
    `ERR the searches of a transaction or script take more than ${stepsMax} steps together: make them more specific, or send them outside of it`,
  );
}

export function searchTooLong(stepsMax: number): CommandError {
  return new CommandError(`ERR the search takes more than ${stepsMax} steps: make it more specific`);
}
