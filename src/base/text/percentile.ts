/** The value that `share` of the sorted values do not exceed (nearest rank); 0 for an empty list. */
export function percentileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
