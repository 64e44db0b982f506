/**
 * The versions of the RDB format. Valkey left Redis after version 11, and numbers its own versions from 80 on: a type
 * or a record that is newer than 11 means something else in each of the two.
 *
 *     1 to 9   Redis up to 6.2            12   Redis 7.4 to 8.4
 *     10       Redis 7.0                  13   Redis 8.6
 *     11       Redis 7.2, Valkey 8        80   Valkey 9.0 and 9.1
 */
const REDIS_VERSION_MAX = 13;
const VALKEY_VERSION_MIN = 80;
const VALKEY_VERSION_MAX = 80;

/** The versions that larder reads, for error texts. */
export const KNOWN_VERSIONS = "1 to 13 (Redis up to 8.6) and 80 (Valkey 9.0 and 9.1)";

export function isKnownVersion(version: number): boolean {
  if (isOfValkey(version)) return version <= VALKEY_VERSION_MAX;
  return version >= 1 && version <= REDIS_VERSION_MAX;
}

/** Whether types and records that are newer than version 11 have the meaning that Valkey gave them. */
export function isOfValkey(version: number): boolean {
  return version >= VALKEY_VERSION_MIN;
}
