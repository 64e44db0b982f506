/**
 * Compiles `assembly/` (AssemblyScript) into WebAssembly and writes each module
 * as base64 into a generated file of the room that runs it, so that the program
 * needs no file beside its code. Run: npm run assembly
 *
 * The compiler is pinned and its output depends on nothing but the source, so
 * a test compiles again and compares (assembly.test.ts).
 */
import { readFileSync, writeFileSync } from "node:fs";

/** The compiler as far as it is used. Its own types declare a global `console` that hides Node's. */
interface Compiler {
  main(
    argv: readonly string[],
    system: {
      readFile(name: string): string | null;
      writeFile(name: string, contents: Uint8Array | string): void;
      listFiles(): readonly string[];
    },
  ): Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>;
}

const COMPILER: string = "assemblyscript/asc";

interface AssemblyModule {
  /** In `assembly/`, without its ending. */
  readonly source: string;
  /** The generated file. */
  readonly target: string;
  /** The memory that the module is given, in pages of 64 KiB; undefined: it has one of its own. */
  readonly memory?: { readonly initialPages: number; readonly maximumPages: number };
}

export const assemblyModules: readonly AssemblyModule[] = [
  {
    source: "row-kernel",
    target: "src/vector/rows/row-kernel.generated.ts",
    memory: { initialPages: 1, maximumPages: 16_384 },
  },
  {
    source: "graph",
    target: "src/vector/graph/graph.generated.ts",
    memory: { initialPages: 1, maximumPages: 65_536 },
  },
  {
    source: "float-text",
    target: "src/kernel/float32/float-text.generated.ts",
  },
  {
    source: "json-strings",
    target: "src/edge/store/long/json-strings.generated.ts",
  },
];

/** The whole text of a module's generated file. Throws with the compiler's words when the source is wrong. */
export async function compileAssembly({ source, memory }: AssemblyModule): Promise<string> {
  const { main } = (await import(COMPILER)) as Compiler;
  let wasm: Uint8Array | undefined;
  const path = `assembly/${source}.ts`;
  const { error, stderr } = await main(
    [
      path,
      "--outFile",
      "module.wasm",
      "-O3",
      "--converge",
      "--noAssert",
      "--runtime",
      "stub",
      "--use",
      "abort=",
      "--enable",
      "simd",
      "--enable",
      "relaxed-simd",
      ...(memory === undefined ? [] : importedMemory(memory)),
    ],
    {
      readFile: (name) => readText(name),
      writeFile: (name, contents) => {
        if (name === "module.wasm" && typeof contents !== "string") wasm = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || wasm === undefined) throw new Error(`${path}: ${stderr.toString()}`);
  return [
    `/** Made from assembly/${source}.ts by tools/assembly.ts. Do not change it here. */`,
    `export const ${camelCase(source)}Wasm =`,
    `  "${Buffer.from(wasm).toString("base64")}";`,
    "",
  ].join("\n");
}

function importedMemory({ initialPages, maximumPages }: NonNullable<AssemblyModule["memory"]>): string[] {
  return [
    "--enable",
    "threads",
    "--importMemory",
    "--sharedMemory",
    "--initialMemory",
    String(initialPages),
    "--maximumMemory",
    String(maximumPages),
  ];
}

function readText(name: string): string | null {
  try {
    return readFileSync(name, "utf8");
  } catch {
    return null;
  }
}

function camelCase(name: string): string {
  return name.replace(/-[a-z]/g, (part) => part.charAt(1).toUpperCase());
}

if (import.meta.main) {
  for (const module of assemblyModules) {
    const text = await compileAssembly(module);
    writeFileSync(module.target, text);
    process.stdout.write(`${module.target}: ${text.length} characters\n`);
  }
}
