/** Whether output has colour: on a terminal, unless `NO_COLOR` or `--no-color` is set. */
export function isColourWanted(
  words: readonly string[],
  { isTTY = false, environment = process.env }: { isTTY?: boolean; environment?: NodeJS.ProcessEnv },
): boolean {
  const { NO_COLOR = "", TERM } = environment;
  return isTTY && NO_COLOR === "" && TERM !== "dumb" && !words.includes("--no-color");
}
