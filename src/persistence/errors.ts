/**
 * The reasons why a data directory cannot be used. Each text names the file and
 * the remedy if there is one. Start-up prints the text and exits; HTTP clients
 * never see it, so it may name files.
 */

/** Bytes that were once durable have changed. */
export class DamagedData extends Error {
  override name = "DamagedData";
  readonly file: string;
  /** Where the first bad byte range starts, in bytes. */
  readonly offset: number;

  constructor(file: string, offset: number, what: string, options?: ErrorOptions) {
    super(`${file} is damaged at byte ${offset}: ${what}. Restore the data directory from a backup`, options);
    this.file = file;
    this.offset = offset;
  }
}

/** A required file is missing. */
export class MissingData extends Error {
  override name = "MissingData";
  readonly file: string;

  constructor(file: string, why: string) {
    super(`${file} is missing: ${why}. Restore the data directory from a backup`);
    this.file = file;
  }
}

/** A directory, a pipe or a device in the place of a file, or a link that leads nowhere. */
export class NotAFile extends Error {
  override name = "NotAFile";
  readonly file: string;
  /** What it is. */
  readonly what: string;

  constructor(file: string, what: string) {
    super(`${file} is ${what}, not a file: move it away, or restore the data directory from a backup`);
    this.file = file;
    this.what = what;
  }
}

/** A newer version of the program wrote this file. */
export class NewerFormat extends Error {
  override name = "NewerFormat";
  readonly file: string;

  constructor(file: string, format: number, formatMax: number) {
    super(`${file} has format ${format}, newer than format ${formatMax} of this version. Use a newer larder`);
    this.file = file;
  }
}

/** A complete and readable file in the wrong place. */
export class WrongFile extends Error {
  override name = "WrongFile";
  readonly file: string;

  constructor(file: string, what: string) {
    super(`${file} ${what}. Restore the data directory from a backup`);
    this.file = file;
  }
}

/** A backup file has changed since it was written. */
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

/** A complete backup file from which nothing can be restored. */
export class UnusableBackup extends Error {
  override name = "UnusableBackup";
  readonly file: string;

  constructor(file: string, what: string) {
    super(`The backup ${file} cannot be used: ${what}`);
    this.file = file;
  }
}

/** The directory holds other files than ours, and no format file says that it is a data directory. */
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
