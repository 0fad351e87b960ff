/**
 * A time limit of a test, multiplied by `PODLOOP_PATIENCE` (default: 1): an emulated machine is many times slower than
 * a real one, and only a hang is to fail there.
 */
export function patiently(limitMs: number): number {
  return limitMs * Number(process.env['PODLOOP_PATIENCE'] ?? 1);
}
