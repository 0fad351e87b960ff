import { median } from '../stats.js';
import { formatTable } from '../text-table.js';
import { formatValues } from './format-values.js';
import { type Comparison, formatRatio, ratioToBest, type Values } from './judge.js';
import { type ContenderFigures } from './run-turns.js';
import { formatTurns, judgeTurns, valueOfTurn } from './turn-ratio.js';

/** What the table has besides. */
export interface ComparisonsFormat {
  /** A column with the name of the kubelet that did better; none unless told. */
  readonly namesBetter?: boolean;
}

/**
 * A table with a row for each comparison, in their order: the values of each contender, the ratio of the first, podloop, to
 * the better of the others, the goal in words, and whether it was kept, by the worse end of the ratio's interval.
 */
export function formatComparisons<Found>(
  figures: readonly ContenderFigures<Found>[],
  comparisons: readonly Comparison<Found>[],
  { namesBetter = false }: ComparisonsFormat = {},
): string {
  const [podloop, ...kubelets] = figures;
  const rows = comparisons.map(({ what, values, format, limit, words }) => {
    const cells = figures.map(({ rounds }) => formatValues(rounds.flatMap(values), format));
    const better = namesBetter ? [findBetter(kubelets, values)] : [];
    const compared = podloop && ratioToBest(podloop, kubelets, values);
    const met = compared && judgeTurns(compared, limit);
    const kept = met === undefined ? 'not judged' : met ? 'yes' : '**no**';
    const ratio = compared === undefined ? ['', '0'] : [formatRatio(compared.ratio), formatTurns(compared)];
    return [what, ...cells, ...better, ...ratio, words, kept];
  });
  const names = figures.map(({ name }) => name);
  return formatTable(
    ['what', ...names, ...(namesBetter ? ['better'] : []), 'ratio', 'turns', 'goal', 'kept'],
    rows,
  );
}

function findBetter<Found>(kubelets: readonly ContenderFigures<Found>[], values: Values<Found>): string {
  const found = kubelets
    .map(({ name, rounds }) => ({
      name,
      value: median(rounds.flatMap((found) => valueOfTurn(values(found)) ?? [])),
    }))
    .filter(({ value }) => Number.isFinite(value))
    .toSorted((one, other) => one.value - other.value);
  return found[0]?.name ?? 'none';
}
