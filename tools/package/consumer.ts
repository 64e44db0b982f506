/**
 * The types of the package as its users see them, with all declarations checked.
 * Copied into an empty folder and compiled there, because here nothing is called larderd.
 */
import { type Larder, type StartOptions, StartRefusal, start } from "larderd";

const options: StartOptions = { command: "dev", threads: "one" };

export async function useIt(): Promise<string> {
  const larder: Larder = await start(options).catch((fault: unknown) => {
    throw fault instanceof StartRefusal ? new Error(fault.message) : fault;
  });
  await larder.clock.advance(1_000);
  const url: string = larder.store.url;
  await larder.stop();
  return url;
}
