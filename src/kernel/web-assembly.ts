/**
 * WebAssembly as far as it is used here: modules without start code that are
 * compiled and made at once, over a memory that threads may share or with one of
 * their own. Node has it, but its types come only with those of a browser.
 */

/** A memory that grows and never shrinks. */
export interface SharedMemory {
  /** Another object after each growth; the old one goes on to show what it showed. */
  readonly buffer: SharedArrayBuffer;
  /** Throws a RangeError beyond the maximum, and when the machine gives no more. */
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

/** By module and name, as the source in `assembly/` asks for them. */
type Imports = Readonly<Record<string, Readonly<Record<string, SharedMemory | ((...numbers: number[]) => number)>>>>;

declare const WebAssembly: {
  readonly Memory: new (pages: MemoryPages & { readonly shared: true }) => SharedMemory;
  readonly Module: new (code: Uint8Array) => CompiledModule;
  readonly Instance: new (module: CompiledModule, imports: Imports) => { readonly exports: unknown };
};

export const PAGE_BYTES = 65_536;

/** Throws a RangeError when the machine gives no more memory. */
export function makeSharedMemory(pages: MemoryPages): SharedMemory {
  return new WebAssembly.Memory({ ...pages, shared: true });
}

/** Of the base64 text in a generated file (tools/assembly.ts). */
export function compileModule(base64: string): CompiledModule {
  return new WebAssembly.Module(Buffer.from(base64, "base64"));
}

/** The exports of an instance of `module`; their types are what its source in `assembly/` says. */
export function instantiate<Exports>(module: CompiledModule, imports: Imports): Exports {
  return new WebAssembly.Instance(module, imports).exports as Exports;
}

/** What a module with a shared memory asks for. */
export function over(memory: SharedMemory): Imports {
  return { env: { memory } };
}
