/** Placeholder. */
export function placeholder(): i32 {
  return 1;
}
