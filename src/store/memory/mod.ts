/** The face of the memory settings, for the command line and the settings, which are read without a store. */
export { evictionPolicies, type MemorySettings, parseMemorySize } from "./memory-settings.ts";
