/** A value that may be available later. */
export type Eventually<Value> = Value | Promise<Value>;
