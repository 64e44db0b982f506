/**
 * Why a data directory cannot be used, each with a text that names the file
 * and says the remedy if there is one. Start-up prints the text and exits;
 * nobody who only speaks HTTP ever sees one, so files may be named.
 */

/** Bytes that were once durable are not what was written. */
export class DamagedData extends Error {
  override name = "DamagedData";
  readonly file: string;
  /** Where the first bad byte range starts, in bytes. */
  readonly offset: number;

  constructor(file: string, offset: number, what: string) {
    super(`${file} is damaged at byte ${offset}: ${what}. Restore the data directory from a backup`);
    this.file = file;
    this.offset = offset;
  }
}

/** A file that must be there is not. */
export class MissingData extends Error {
  override name = "MissingData";
  readonly file: string;

  constructor(file: string, why: string) {
    super(`${file} is missing: ${why}. Restore the data directory from a backup`);
    this.file = file;
  }
}

/** A file was written by a version of the program that this one does not know. */
export class NewerFormat extends Error {
  override name = "NewerFormat";
  readonly file: string;

  constructor(file: string, format: number, formatMax: number) {
    super(`${file} has format ${format}, newer than format ${formatMax} of this version. Use a newer larder`);
    this.file = file;
  }
}

/** A whole and readable file that does not belong where it lies. */
export class WrongFile extends Error {
  override name = "WrongFile";
  readonly file: string;

  constructor(file: string, what: string) {
    super(`${file} ${what}. Restore the data directory from a backup`);
    this.file = file;
  }
}

/** A backup file is not what was written. */
export class DamagedBackup extends Error {
  override name = "DamagedBackup";
  readonly file: string;
  /** Where the first bad byte range starts, in bytes. */
  readonly offset: number;

  constructor(file: string, offset: number, what: string) {
    super(`The backup ${file} is damaged at byte ${offset}: ${what}. Use another backup`);
    this.file = file;
    this.offset = offset;
  }
}

/** A backup file that is whole, and from which nothing can be restored. */
export class UnusableBackup extends Error {
  override name = "UnusableBackup";
  readonly file: string;

  constructor(file: string, what: string) {
    super(`The backup ${file} cannot be used: ${what}`);
    this.file = file;
  }
}

/** Files lie there that are not ours, and no format says that the directory is. */
export class ForeignDirectory extends Error {
  override name = "ForeignDirectory";

  constructor(directory: string, found: string) {
    super(
      `${directory} is not empty and is not a data directory of larder: it has ${JSON.stringify(found)} and no file format. Name a new or an empty directory`,
    );
  }
}

/** Another process holds the data directory (S-08). */
export class DirectoryInUse extends Error {
  override name = "DirectoryInUse";

  constructor(directory: string) {
    super(`The data directory ${directory} is in use by another larder. Stop that one or choose another directory`);
  }
}
