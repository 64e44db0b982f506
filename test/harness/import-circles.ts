/**
 * Import circles: sets of files each of which reaches the others by imports,
 * types included. Reading one of them means reading all of them. They are the
 * strongly connected components of Tarjan's algorithm, in O(files + imports).
 */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** The circles of a graph of files and the files that they import, each of two files or more, sorted. */
export function circlesOf(graph: ImportGraph): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const start = open.length;
    let low = order.size;
    order.set(file, low);
    open.push(file);
    for (const target of graph.get(file) ?? []) {
      if (!graph.has(target)) continue;
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    if (low === order.get(file)) {
      const circle = open.splice(start);
      if (circle.length > 1) circles.push(circle.sort());
    }
    return low;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles;
}
