/** Numbers, sizes and moments as people read them. */

const counts = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function countText(count: number): string {
  return counts.format(count);
}

/** 1 entry, 1,234 entries: `plural` is entries. */
export function countNoun(count: number, plural: string): string {
  return `${countText(count)} ${count === 1 ? plural.replace(/ies$/, "y").replace(/s$/, "") : plural}`;
}

/** 12.3K for 12,345. */
export function shortCount(count: number): string {
  return short.format(count);
}

/** 95.3 % for 0.953. Not rounded up: 99.99 % is not all. */
export function shareText(share: number): string {
  return `${Math.floor(share * 1_000 + 1e-6) / 10} %`;
}

/** 1.5 MB for 1,500,000 bytes. */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1_000;
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** 1 h 5 min for 3,900,000 ms; 12 ms, 3.4 s. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const parts: [number, string][] = [
    [Math.floor(ms / 86_400_000), "d"],
    [Math.floor(ms / 3_600_000) % 24, "h"],
    [Math.floor(ms / 60_000) % 60, "min"],
    [Math.floor(ms / 1_000) % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

/** 2026-11-30 07:25:03.123 in local time, without the milliseconds if `isShort`. */
export function momentText(ms: number, { isShort = false } = {}): string {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  if (Number.isNaN(date.getTime())) return `${ms}`;
  return date
    .toISOString()
    .slice(0, isShort ? 19 : 23)
    .replace("T", " ");
}

/** How long ago, or in how long. */
export function agoText(ms: number, nowMs: number): string {
  const distance = nowMs - ms;
  if (Math.abs(distance) < 1_000) return "now";
  return distance > 0 ? `${durationText(distance)} ago` : `in ${durationText(-distance)}`;
}
