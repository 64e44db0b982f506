/**
 * WebAssembly as far as the index uses it: memories that threads may share, and
 * modules without start code that are compiled and made at once. Node has it,
 * but its types come only with those of a browser.
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

declare const WebAssembly: {
  readonly Memory: new (pages: MemoryPages & { readonly shared: true }) => SharedMemory;
  readonly Module: new (code: Uint8Array) => CompiledModule;
  readonly Instance: new (
    module: CompiledModule,
    imports: { readonly env: { readonly memory: SharedMemory } },
  ) => { readonly exports: unknown };
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

/** The exports of an instance of `module` over `memory`; their types are what its source in `assembly/` says. */
export function instantiate<Exports>(module: CompiledModule, memory: SharedMemory): Exports {
  return new WebAssembly.Instance(module, { env: { memory } }).exports as Exports;
}
