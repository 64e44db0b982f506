/** Gives the event loop one turn, so that long work lets others in between its parts. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
