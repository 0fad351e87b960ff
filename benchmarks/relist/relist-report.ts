import { formatEstimate } from '../goals.js';
import { type Estimate } from '../stats.js';
import { formatTable } from '../text-table.js';
import { fitExponent } from './growth.js';
import { type RelistFigures } from './relist-benchmark.js';

/** No more than so much of the bare calls' time may a relist take. */
export const TIME_LIMIT = 1.15;
/** And no more than so much of their CPU. */
export const CPU_LIMIT = 1.3;

/** Below so many containers what every call costs is the larger part, and growth says nothing. */
const GROWTH_FROM = 500;

/** How the time of a side grows with the number of containers; undefined where too few sizes were measured. */
export function growthOf(figures: readonly RelistFigures[], side: 'bare' | 'relist'): Estimate | undefined {
  return fitExponent(
    figures
      .filter(({ containers }) => containers >= GROWTH_FROM)
      .map((one) => ({ size: one.containers, wallMs: one[side].wallMs })),
  );
}

/** Whether the intervals of both ratios end below the limit. */
export function isWithinLimit(figures: RelistFigures): boolean {
  return Math.max(figures.ratioOfMeans.high, figures.ratioOfMedians.high) <= TIME_LIMIT;
}

/** The section of the results page. */
export function formatRelistReport(figures: readonly RelistFigures[]): string {
  return `An idle relist next to the bare list calls: ListPodSandbox and ListContainers in flight together over a connection of the
same kind, id and state read by hand. Alternating rounds; brackets hold the 95 % bootstrap interval of the ratio relist / bare.
Within ${TIME_LIMIT} means that the interval of the means and that of the medians both end below it; p10 is
the ratio of the fast rounds, which others at work on the machine disturb least.

${formatTable(
  [
    'containers',
    'MiB',
    'bare p50 ms',
    'relist p50 ms',
    'µs each',
    'means',
    'medians',
    `within ${TIME_LIMIT}`,
    'p10',
    'CPU',
  ],
  figures.map((one) => [
    String(one.containers),
    (one.answerBytes / 2 ** 20).toFixed(1),
    one.bare.p50Ms.toFixed(2),
    one.relist.p50Ms.toFixed(2),
    ((1_000 * one.relist.p50Ms) / one.containers).toFixed(1),
    formatEstimate(one.ratioOfMeans),
    formatEstimate(one.ratioOfMedians),
    isWithinLimit(one) ? 'yes' : 'no',
    formatEstimate(one.ratioOfP10),
    formatEstimate(one.cpuRatio),
  ]),
)}

Where a relist's time goes (medians, ms), from rounds of their own.

${formatTable(
  ['containers', 'calls', 'decode', 'diff', 'rest', 'rounds', 'runs a round'],
  figures.map(({ containers, parts, rounds, runsPerRound }) => [
    String(containers),
    ...[parts.callsMs, parts.decodeMs, parts.diffMs, parts.restMs].map((ms) => ms.toFixed(2)),
    String(rounds),
    String(runsPerRound),
  ]),
)}

${formatGrowth(figures)}How long the event loop was kept at most (ms), the worst of all probed rounds. A turn is all that ran between two visits of the
loop's check phase, the collector's pauses included; timer is by what a due timer was late. Without the pauses, a relist's turns
are the transport's until the last answer is there (HTTP/2 frames, assembling the message) and podloop's own after it.

${formatTable(
  [
    'containers',
    'bare turn',
    'relist turn',
    'bare timer',
    'relist timer',
    'bare GC',
    'relist GC',
    'transport without GC',
    'own without GC',
  ],
  figures.map(({ containers, bare: { loop: bare }, relist: { loop: relist } }) => [
    String(containers),
    ...[
      ...[bare.longestTurnMs, relist.longestTurnMs, bare.longestDelayMs, relist.longestDelayMs],
      ...[bare.longestGcMs, relist.longestGcMs, relist.longestTransportMs, relist.longestOwnMs],
    ].map((ms) => ms.toFixed(1)),
  ]),
)}
`;
}

function formatGrowth(figures: readonly RelistFigures[]): string {
  const [relist, bare] = [growthOf(figures, 'relist'), growthOf(figures, 'bare')];
  if (relist === undefined || bare === undefined) return '';
  return `From ${GROWTH_FROM} containers on, the median time of a relist grows with their number to the power of ${formatEstimate(relist)}, that of
the bare lists of ${formatEstimate(bare)}; 1 is in proportion.

`;
}
