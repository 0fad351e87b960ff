import { formatEstimate, type Goal } from '../goals.js';
import { type Estimate, median } from '../stats.js';
import { compareTurns, formatTurns, judgeTurns, type TurnRatio, valueOfTurn } from './turn-ratio.js';

/** Reads its values from what was found in one turn; none where that failed. */
export type Values<Found> = (found: Found) => readonly number[];

/** What is compared, in the words of the table, with the part of the kubelet's that podloop may take. */
export interface Comparison<Found> {
  readonly what: string;
  readonly values: Values<Found>;
  /** Writes those of the values that ever came, which may be none of them. */
  readonly format: (values: readonly number[]) => string;
  readonly limit: number;
  readonly words: string;
  /** Ends that have no times, and so are not among the values; always 0 unless told. */
  readonly countUnknown?: (found: Found) => number;
}

/** What was found of one contender. */
export interface RoundsOf<Found> {
  readonly rounds: readonly Found[];
}

/** A goal for each comparison, in their order. */
export function judgeComparisons<Found>(
  podloop: RoundsOf<Found>,
  kubelets: readonly RoundsOf<Found>[],
  comparisons: readonly Comparison<Found>[],
): Goal[] {
  return comparisons.map(({ what, values, limit, words, countUnknown = () => 0 }) => {
    const compared = ratioToBest(podloop, kubelets, values);
    const [own, others] = [[podloop], kubelets].map((some) =>
      some.flatMap(({ rounds }) => rounds).reduce((sum, found) => sum + countUnknown(found), 0),
    );
    const unknown =
      own === 0 && others === 0
        ? ''
        : `; left out are ends without a time, ${own} of podloop’s and ${others} of the kubelets’`;
    return {
      ...{ what, goal: words },
      measured:
        compared === undefined
          ? `nothing${unknown}`
          : `${formatRatio(compared.ratio)} times the kubelet’s, turns: ${formatTurns(compared)}${unknown}`,
      met: compared && judgeTurns(compared, limit),
    };
  });
}

/** Of the medians of turns, to whichever of the kubelet's two did better; undefined where nobody's was measured. */
export function ratioToBest<Found>(
  podloop: RoundsOf<Found>,
  kubelets: readonly RoundsOf<Found>[],
  values: Values<Found>,
): TurnRatio | undefined {
  const turnsOf = ({ rounds }: RoundsOf<Found>): (number | undefined)[] =>
    rounds.map((found) => valueOfTurn(values(found)));
  const own = turnsOf(podloop);
  const [best] = kubelets
    .map(turnsOf)
    .map((turns) => ({ turns, value: median(turns.filter((each) => each !== undefined)) }))
    .filter(({ value }) => !Number.isNaN(value))
    .toSorted((one, other) => (one.value === other.value ? 0 : one.value - other.value));
  return best && compareTurns(own, best.turns);
}

/** With an interval where there are rounds enough for one. */
export function formatRatio(ratio: Estimate): string {
  if (Number.isNaN(ratio.value)) return 'none';
  if (ratio.value === Number.POSITIVE_INFINITY) return '∞';
  const text = ratio.low === ratio.high ? ratio.value.toFixed(3) : formatEstimate(ratio);
  return text.replaceAll('Infinity', '∞');
}
