import { formatHumanDuration } from '#base/time/human-duration.js';

/** A measured time in three digits or so: `0.4ms`, `12ms`, `1.20s`, `45.3s`, `3m5s`. */
export function formatMs(ms: number | undefined): string {
  if (ms === undefined) return '-';
  if (ms < 9.95) return `${Math.max(0, ms).toFixed(1)}ms`;
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)}s`;
  if (ms < 119_950) return `${(ms / 1_000).toFixed(1)}s`;
  return formatHumanDuration(ms);
}
