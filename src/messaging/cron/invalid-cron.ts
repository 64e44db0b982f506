/** How a cron text is refused. */

/** The message says what is wrong with the text and quotes the part. */
export class InvalidCron extends Error {
  override name = "InvalidCron";
}
