/** From one moment to another, in milliseconds of any clock. */
export interface Span {
  readonly beganMs: number;
  readonly endedMs: number;
}

/** How much of the time from one moment to another lies in at least one of the spans, milliseconds. */
export function coveredMs(spans: readonly Span[], fromMs: number, toMs: number): number {
  let covered = 0;
  let doneMs = fromMs;
  for (const { beganMs, endedMs } of spans.toSorted((one, other) => one.beganMs - other.beganMs)) {
    const [begin, end] = [Math.max(beganMs, doneMs), Math.min(endedMs, toMs)];
    if (end <= begin) continue;
    covered += end - begin;
    doneMs = end;
  }
  return covered;
}
