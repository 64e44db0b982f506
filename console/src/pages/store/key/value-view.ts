/** What the page of a key gives to the view of its type. */
import type { Bytes } from "../values/bytes.ts";

export interface ValueViewProps {
  readonly database: string;
  readonly keyName: Bytes;
  /** Approximate size of the value in memory. */
  readonly bytes: number;
  /** Elements, or bytes of a string. */
  readonly length: number;
  /** Grows when the value is to be read again. */
  readonly version: number;
  /** To be called after a change of the value. */
  readonly changed: () => void;
}
