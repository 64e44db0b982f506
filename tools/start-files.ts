/**
 * Which modules of the program are in one file of the package. A start reads, compiles and evaluates whole files, so
 * modules that a start does not need are in other files.
 *
 * (1) A module that one start needs is in the file of that start, a module that several need is in `shared`, and a
 *     module that is only loaded on demand is left to the bundler.
 * (2) `shared` imports no other file of a start: what a module of it needs, is in it.
 */
import { join } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

/** What is loaded before the first answer, by the thread that loads it, below `src/`. */
const starts = {
  program: ["program/cli/command-line.ts", "program/run-server.ts"],
  area: ["program/workers/area-worker.ts"],
  storage: ["persistence/area-storage.ts"],
  store: ["program/services/store-service.ts"],
  messaging: ["program/services/messaging-service.ts"],
  vector: ["program/services/vector-service.ts"],
  history: ["program/history/writer.ts"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const SHARED = "shared";

/** A group of the option `codeSplitting` of Rolldown. */
interface FileGroup {
  readonly name: string;
  readonly test: (path: string) => boolean;
  /** A group of higher priority takes its modules, and what these need, first. */
  readonly priority: number;
}

/** Modules that are only evaluated for what they do: an import of them stays, though nothing is imported. */
const EFFECTS = /\/(?:program\/prototype|main)\.ts$/;

/**
 * Treeshaking for every build: any other module is left out where none of its exports is used, so that the interface of
 * an engine (`mod.ts`) does not load the engine for one constant.
 */
export const treeshake = { moduleSideEffects: (path: string): boolean => EFFECTS.test(path) };

/** Groups that keep (1) and (2). `root` is the folder of the sources, `entries` are the entries of the package. */
export async function startFileGroups(root: string, entries: readonly string[]): Promise<FileGroup[]> {
  const files = await filesOfModules(root);
  // An entry imports others on demand, and would wait for itself in their file.
  for (const path of entries) files.delete(join(root, "src", path));
  const group = (name: string, priority: number): FileGroup => ({
    name,
    priority,
    test: (path) => files.get(path) === name,
  });
  return [group(SHARED, 1), ...Object.keys(starts).map((name) => group(name, 0))];
}

/** The file of each module that a start needs. */
async function filesOfModules(root: string): Promise<Map<string, string>> {
  const input = Object.entries(starts).flatMap(([start, paths]) =>
    paths.map((path, index) => [`${start}-${index}`, join(root, "src", path)] as const),
  );
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(input),
    platform: "node",
    external: /^[^./]/,
    treeshake,
    plugins: [withoutImportsOnDemand],
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])));
  const files = new Map<string, string>();
  for (const [entry] of input) {
    const [start = ""] = entry.split("-");
    const first = [...chunks.values()].find(({ name, isEntry }) => isEntry && name === entry);
    for (const path of modulesFrom(first, chunks)) {
      const known = files.get(path) ?? start;
      files.set(path, known === start ? start : SHARED);
    }
  }
  return files;
}

/** The modules of a chunk and of all that it imports. */
function modulesFrom(first: OutputChunk | undefined, chunks: ReadonlyMap<string, OutputChunk>): ReadonlySet<string> {
  const found = new Set<OutputChunk>();
  const visit = (chunk: OutputChunk | undefined): void => {
    if (chunk === undefined || found.has(chunk)) return;
    found.add(chunk);
    for (const name of chunk.imports) visit(chunks.get(name));
  };
  visit(first);
  return new Set([...found].flatMap(({ moduleIds }) => moduleIds));
}

const withoutImportsOnDemand: Plugin = {
  name: "without-imports-on-demand",
  resolveDynamicImport: () => ({ id: "on-demand", external: true }),
};

/**
 * Takes names of Node's own modules without importing them: an import reads all properties of such a module, and some of
 * them load others (`fs` promises and its readers of lines, `util` an assertion library, `zlib` archives, `crypto` its
 * web interface).
 */
export const builtinsByName: Plugin = {
  name: "builtins-by-name",
  renderChunk(code) {
    return code.replace(
      /^import (\* as \w+|[\w$]+|\{[^}]*\}) from "(node:[a-z_/]+)";$/gm,
      (_, names: string, module: string) =>
        `const ${names.replace("* as ", "").replaceAll(" as ", ": ")} = process.getBuiltinModule("${module}");`,
    );
  },
};
