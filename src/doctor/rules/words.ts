import { formatGoDuration } from '#base/time/go-duration.js';

/** A duration for people: `3ms`, `1.2s`, `2m5s`. */
export function formatMs(ms: number): string {
  if (ms < 10) return formatGoDuration(Math.round(ms * 10) / 10);
  return formatGoDuration(
    ms < 1_000 ? Math.round(ms) : ms < 60_000 ? Math.round(ms / 100) * 100 : Math.round(ms / 1_000) * 1_000,
  );
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size for people: `512B`, `16MiB`, `1.5GiB`. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)}${UNITS[unit]}`;
}

/** A share, 0 to 1, for people: `0.4%`, `12%`. */
export function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent < 10 ? Math.round(percent * 10) / 10 : Math.round(percent)}%`;
}

/** `1 pod`, `2 pods`. */
export function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

/** The first of a list in words, and how many more there are. */
export function nameSome(names: readonly string[], all: number = names.length): string {
  const more = all - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** What lets the processes of a frozen cgroup go on. */
export function howToThaw(cgroup: string): string {
  return `Thaw it, which interrupts nothing: echo THAWED > ${cgroup}/freezer.state (cgroup v1), or echo 0 > ${cgroup}/cgroup.freeze (v2).`;
}

/** Since when something stands still, of a process that the kernel says it of. */
export function sinceOf(
  atMs: number,
  { stillForMs }: { readonly stillForMs?: number | undefined } = {},
): { readonly sinceMs?: number } {
  return stillForMs === undefined ? {} : { sinceMs: atMs - stillForMs };
}

/** The one of these that has stood still for the longest time; undefined where nobody knows of any. */
export function longestOf<T extends { readonly stillForMs?: number }>(
  processes: readonly T[],
): T | undefined {
  const known = processes.filter(({ stillForMs }) => stillForMs !== undefined);
  return known.sort((a, b) => b.stillForMs! - a.stillForMs!)[0];
}

/** `, has not run for 2m`; empty where nobody knows. */
export function describeStandstill({ stillForMs }: { readonly stillForMs?: number | undefined }): string {
  return stillForMs === undefined ? '' : `, has not run for ${formatMs(stillForMs)}`;
}
