import { formatTable } from '../text-table.js';
import { type DeathFigures } from './follow-deaths.js';
import { formatComparisons } from './format-comparisons.js';
import { type FailedRounds, formatFailures } from './format-values.js';
import { type Comparison } from './judge.js';
import { type ContenderFigures } from './run-turns.js';

/** What a table says of a contender, by all its turns. */
export type Cell<Found> = (rounds: readonly Found[]) => string;

/** What a report has to say. */
export interface StageReport<Found> {
  /** How it was measured, behind what holds for all. */
  readonly words: string;
  /** What is held against the kubelet's; a table of its own. */
  readonly comparisons?: readonly Comparison<Found>[];
  readonly rows: readonly (readonly [what: string, of: Cell<Found>])[];
}

/** The section of the results page. */
export function formatStageReport<Found extends FailedRounds['rounds'][number]>(
  figures: readonly ContenderFigures<Found>[],
  { words, comparisons = [], rows }: StageReport<Found>,
): string {
  const names = figures.map(({ name }) => name);
  const compared =
    comparisons.length === 0
      ? ''
      : `The ratio is podloop's to the better of the kubelet's two: of the medians of turns, of which
each is the median of its pods. Fewer than three turns are not judged; one that failed on the kubelet's side is dropped on both, and one
that failed on podloop's misses the goal.

${formatComparisons(figures, comparisons, { namesBetter: true })}

Besides:
`;
  return `podloop in its default mode, and a kubelet with its generator that only relists and with events on, each on a containerd of its own with
pods of one container on the host's network, in turns. Times of containers are the runtime's records, those of events the lines of the
agents' logs. ${words}
${compared}
${formatTable(
  ['what', ...names],
  rows.map(([what, of]) => [what, ...figures.map(({ rounds }) => of(rounds))]),
)}
${formatFailures(figures)}`;
}

/** How many ends were missed, and how many told of twice. */
export function formatEnds(all: readonly Pick<DeathFigures, 'missed' | 'repeated'>[]): string {
  const sum = (value: (each: (typeof all)[number]) => number): number =>
    all.reduce((total, each) => total + value(each), 0);
  return `${sum(({ missed }) => missed)}, ${sum(({ repeated }) => repeated)}`;
}

/** How many ends have no times. */
export function formatUnknownEnds(all: readonly Pick<DeathFigures, 'unknownEnds'>[]): string {
  return String(all.reduce((sum, { unknownEnds }) => sum + unknownEnds, 0));
}
