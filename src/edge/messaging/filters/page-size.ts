/** The limit of a page: a hundred bodies of ten megabytes would not fit in a string. */

/** Bytes of all bodies on a page, before encoding. A page has at least one entry. */
export const LIST_BYTES_MAX = 32 * 1024 * 1024;
