/** Reports a thread's memory to its memory guard: V8's figures, also after each full collection. */
import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import { systemClock } from "../../kernel/clock.ts";
import type { MemoryGuard } from "../../kernel/memory-guard.ts";

/** Old objects and memory outside the heap. Young objects have their own space, outside the limit of the heap. */
export function readThreadBytes(): number {
  const { used_heap_size: usedBytes, external_memory: outsideBytes } = getHeapStatistics();
  let youngBytes = 0;
  for (const { space_name: name, space_used_size: bytes } of getHeapSpaceStatistics())
    if (name === "new_space" || name === "new_large_object_space") youngBytes += bytes;
  return usedBytes - youngBytes + outsideBytes;
}

/** Reads the thread's memory each second and after each full collection. The returned function ends that. */
export function watchThreadMemory(guard: MemoryGuard): () => void {
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind: number } };
      if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) {
        guard.collected();
        return;
      }
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  const stop = guard.watch(systemClock);
  return () => {
    observer.disconnect();
    stop();
  };
}
