/** Addresses that the parts of float-text share, and the bytes of JSON's grammar. The layout is in float-text.ts. */
export const RESULTS: usize = 16;
export const STACK: usize = 1_024;
export const SCALES: usize = 2_048;
export const POWERS: usize = 3_072;
export const WHOLE_POWERS: usize = 3_648;
export const VALUES: usize = 4_096;
export const VALUES_MAX: u32 = 65_536;
/** 25 bytes for each number: the longest text has 24 and a comma. Stores may exceed it by 16 bytes. */
export const TEXT: usize = 266_240;
export const PRINT_MAX: u32 = 4_096;
export const FINITE_SCALES: usize = 369_664;
export const DOCUMENT: usize = 393_216;
export const DOCUMENT_SLACK: u32 = 64;

/** Words at RESULTS: where the last call stopped, the wrong element, and the results of a check. */
const STOPPED_AT: usize = RESULTS;
const FAULT_INDEX: usize = RESULTS + 4;
const DEPTH: usize = RESULTS + 8;
const SPACE_BYTES: usize = RESULTS + 12;
const FLAGS: usize = RESULTS + 16;

/** The address after the read text, or of the wrong byte. */
export function stopAt(at: usize): void {
  store<u32>(STOPPED_AT, <u32>at);
}

export function setFaultIndex(index: u32): void {
  store<u32>(FAULT_INDEX, index);
}

export function setFacts(depth: u32, spaceBytes: u32, flags: u32): void {
  store<u32>(DEPTH, depth);
  store<u32>(SPACE_BYTES, spaceBytes);
  store<u32>(FLAGS, flags);
}

export const QUOTE: u32 = 0x22;
export const PLUS: u32 = 0x2b;
export const COMMA: u32 = 0x2c;
export const MINUS: u32 = 0x2d;
export const POINT: u32 = 0x2e;
export const ZERO: u32 = 0x30;
export const COLON: u32 = 0x3a;
export const ARRAY_START: u32 = 0x5b;
export const BACKSLASH: u32 = 0x5c;
export const ARRAY_END: u32 = 0x5d;
export const SMALL_E: u32 = 0x65;
export const SMALL_U: u32 = 0x75;
export const OBJECT_START: u32 = 0x7b;
export const OBJECT_END: u32 = 0x7d;
/** Lower bytes must be escaped in a string. */
export const FIRST_PRINTABLE: u32 = 0x20;

/** White space of RFC 8259 section 2. */
// @ts-ignore: decorator
@inline
export function isSpace(byte: u32): bool {
  return byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

/** The address of the first byte that is not white space. */
// @ts-ignore: decorator
@inline
export function skipSpace(at: usize): usize {
  while (isSpace(load<u8>(at))) at++;
  return at;
}
