/** `2006-01-02T15:04:05.999999999Z` for nanoseconds since the epoch, always with nine digits. */
export function formatRfc3339(ns: bigint): string {
  const seconds = new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(ns % 1_000_000_000n).padStart(9, '0')}Z`;
}
