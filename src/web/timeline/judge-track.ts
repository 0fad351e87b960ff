import { type PodVerdict } from '../data/shown-pod.js';
import { type Lane, type Span, type Track } from './tracks.js';

/** The state of a pod at a moment, as far as its track shows it; undefined if it was not there. */
export function judgeTrack({ lane, containers }: Track, atMs: number): PodVerdict | undefined {
  const lanes = [lane, ...containers.values()];
  const present = lanes
    .flatMap((each) => each.index.between(atMs, atMs))
    .filter((span) => covers(span, atMs));
  const trouble = present.find(({ kind, tone }) => (kind === 'hang' || kind === 'trouble') && tone === 'bad');
  const running = present.filter(({ kind }) => kind === 'run').length;
  const isThere = running > 0 || present.some(({ label, kind }) => kind === 'sync' && label === 'sandbox');
  if (trouble !== undefined) return { word: trouble.label, tone: 'bad' };
  const ends = [...containers.values()].flatMap((each) => lastEnd(each, atMs) ?? []);
  const failed = ends.find(({ tone }) => tone === 'bad');
  if (failed !== undefined && isThere) return { word: failed.label, tone: 'bad' };
  if (running > 0) return { word: 'Running', tone: 'ok' };
  if (isThere)
    return ends.length > 0 ? { word: 'Completed', tone: 'quiet' } : { word: 'Starting', tone: 'info' };
  return undefined;
}

/** How the container had ended last, if it does not run. */
function lastEnd({ spans }: Lane, atMs: number): Span | undefined {
  let last: Span | undefined;
  for (const span of spans) {
    if (span.kind !== 'run' || span.fromMs > atMs) continue;
    if (covers(span, atMs)) return undefined;
    if (last === undefined || span.toMs! > last.toMs!) last = span;
  }
  return last;
}

function covers({ fromMs, toMs }: Span, atMs: number): boolean {
  return fromMs <= atMs && (toMs === undefined || toMs > atMs);
}
