/** Why a copy cannot be written or used. Each text names the object, and the remedy if it has one. */

/** An object is missing, or its bytes are not those that were copied. */
export class DamagedCopy extends Error {
  override name = "DamagedCopy";
  readonly object: string;

  constructor(object: string, what: string) {
    super(
      `The object ${object} of the copy is damaged: ${what}. larder verify prints the moments that can be restored with --at`,
    );
    this.object = object;
  }
}

/** Nothing can be restored from a copy. */
export class UnusableCopy extends Error {
  override name = "UnusableCopy";

  constructor(what: string) {
    super(`The copy cannot be used: ${what}`);
  }
}

/** The prefix has the copy of another data directory, which must not be continued. */
export class ForeignCopy extends Error {
  override name = "ForeignCopy";

  constructor(found: string, own: string) {
    super(
      `The copy belongs to another data directory: its id is ${found}, and this one has ${own}. ` +
        "Restore the copy into an empty directory to continue it, or choose another prefix",
    );
  }
}

/** A server with a higher generation copies to the same prefix. */
export class CopyTakenOver extends Error {
  override name = "CopyTakenOver";

  constructor(own: number, newest: number) {
    super(
      `Another server has taken over the copy: it has generation ${newest}, and this one ${own}. ` +
        "Let only one server copy to a prefix",
    );
  }
}
