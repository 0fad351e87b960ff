import { formatNumber, type Goal } from '../goals.js';
import { type DeathFigures } from './follow-deaths.js';
import { type PhaseFailure } from './phase-runner.js';
import { LEAST_TURNS } from './turn-ratio.js';

/** Ends, and how many of them were told of wrongly. */
export type Ends = Pick<DeathFigures, 'killed' | 'missed' | 'repeated'>;

/** That each end was told of once; given are those of each turn, whoever's they were. */
export function judgeEnds(all: readonly (readonly Ends[])[]): Goal {
  const turns = all.filter((ends) => ends.length > 0);
  const ends = turns.flat();
  const killed = ends.reduce((sum, each) => sum + each.killed, 0);
  const wrong = ends.reduce((sum, { missed, repeated }) => sum + missed + repeated, 0);
  return {
    ...{ what: 'ends told of', goal: 'each once' },
    measured: `${killed - wrong} of ${killed} ends, in ${turns.length} turns`,
    met: wrong > 0 ? false : turns.length < LEAST_TURNS ? undefined : true,
  };
}

/** What failed on podloop's side counts against it. */
export function judgeFailures(rounds: readonly { readonly failures: readonly PhaseFailure[] }[]): Goal {
  const failures = rounds.reduce((sum, each) => sum + each.failures.length, 0);
  const what = 'phases of podloop’s that failed';
  return { what, goal: '0', measured: String(failures), met: failures === 0 };
}

/** What never came took longer than anything that did. */
export function withMissed(ms: readonly number[], missed: number): readonly number[] {
  return [...ms, ...Array.from({ length: missed }, () => Number.POSITIVE_INFINITY)];
}

/** The longest of them; none where nothing was killed. */
export function longest(ms: readonly number[], missed: number): readonly number[] {
  const all = withMissed(ms, missed);
  return all.length === 0 ? [] : [Math.max(...all)];
}

/** What {@link longestOf} and {@link judgeEach} judge by, in words and numbers. */
export interface Judged<Each> {
  readonly what: string;
  readonly words: string;
  readonly all: readonly Each[];
  /** What each of them is: turns, hangs. */
  readonly unit: string;
  /** One that does not hold is enough to miss a goal; to keep it takes so many. */
  readonly least: number;
}

/** The longest time of an end; `all` has those of each turn or hang. Nothing is judged where there is no limit (NaN). */
export function longestOf({
  what,
  words,
  all,
  unit,
  least,
  limitMs,
}: Judged<readonly number[]> & { readonly limitMs: number }): Goal {
  const values = all.flat();
  const mostMs = Math.max(...values);
  const most = Number.isFinite(mostMs) ? `${formatNumber(mostMs)} ms` : 'for ever';
  const limit = Number.isNaN(limitMs) ? '' : `<= ${formatNumber(limitMs)} ms: `;
  const isKept = values.length === 0 || Number.isNaN(limitMs) ? undefined : mostMs <= limitMs;
  return {
    ...{ what, goal: `${limit}${words}` },
    measured: values.length === 0 ? 'nothing' : `${most}, of ${values.length} ends in ${all.length} ${unit}`,
    met: isKept === true && all.length < least ? undefined : isKept,
  };
}

/** That something holds for each of them. */
export function judgeEach<Each>({
  what,
  words,
  all,
  unit,
  least,
  holds,
}: Judged<Each> & { readonly holds: (each: Each) => boolean }): Goal {
  const kept = all.filter(holds).length;
  const met = kept < all.length ? false : all.length < least ? undefined : true;
  return { what, goal: words, measured: `${kept} of ${all.length} ${unit}`, met };
}
