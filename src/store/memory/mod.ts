/** The public interface of the memory settings, for the command line and the settings, which run without a store. */
export { evictionPolicies, type MemorySettings, parseMemorySize } from "./memory-settings.ts";
