/**
 * The part of WebAssembly that is used here: modules without start code, compiled
 * and instantiated synchronously, with a shared memory or their own. Node has it,
 * but its types are only part of those of a browser.
 */

/** A memory that grows and never shrinks. */
export interface SharedMemory {
  /** A new object after each growth; the old one still shows its part of the memory. */
  readonly buffer: SharedArrayBuffer;
  /** Throws a RangeError beyond the maximum, and if the machine has no more memory. */
  grow(pages: number): number;
}

export interface CompiledModule {
  /** Compiled code, which may be sent to another thread. */
  readonly compiled: "compiled";
}

interface MemoryPages {
  readonly initial: number;
  readonly maximum: number;
}

/** By module and name, as the source in `assembly/` imports them. */
type Imports = Readonly<Record<string, Readonly<Record<string, SharedMemory | ((...numbers: number[]) => number)>>>>;

declare const WebAssembly: {
  readonly Memory: new (pages: MemoryPages & { readonly shared: true }) => SharedMemory;
  readonly Module: new (code: Uint8Array) => CompiledModule;
  readonly Instance: new (module: CompiledModule, imports: Imports) => { readonly exports: unknown };
};

export const PAGE_BYTES = 65_536;

/** Throws a RangeError if the machine has no more memory. */
export function makeSharedMemory(pages: MemoryPages): SharedMemory {
  return new WebAssembly.Memory({ ...pages, shared: true });
}

/** Compiles the base64 text of a generated file (tools/assembly.ts). */
export function compileModule(base64: string): CompiledModule {
  return new WebAssembly.Module(Buffer.from(base64, "base64"));
}

/** The exports of an instance of `module`; their types are those of its source in `assembly/`. */
export function instantiate<Exports>(module: CompiledModule, imports: Imports): Exports {
  return new WebAssembly.Instance(module, imports).exports as Exports;
}

/** The imports of a module with a shared memory. */
export function over(memory: SharedMemory): Imports {
  return { env: { memory } };
}
