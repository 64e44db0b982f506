/** How large a page of a list may get: a hundred bodies of ten megabytes would be more than a string can hold. */

/** Of the bodies on a page, before they are encoded. One entry is always shown. */
export const LIST_BYTES_MAX = 32 * 1024 * 1024;
