import { formatEstimate } from '../goals.js';
import { formatTable } from '../text-table.js';
import { type RelistFigures } from './relist-benchmark.js';

/** No more than so much of the bare calls' time may a relist take. */
export const TIME_LIMIT = 1.15;
/** And no more than so much of their CPU. */
export const CPU_LIMIT = 1.3;

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

How long the event loop was kept at most (ms): in one turn of the loop, garbage collection included, and by what a due timer was late.

${formatTable(
  ['containers', 'bare turn', 'relist turn', 'bare timer', 'relist timer', 'bare GC', 'relist GC'],
  figures.map(({ containers, bare, relist }) => [
    String(containers),
    ...[bare.loop.longestTurnMs, relist.loop.longestTurnMs].map((ms) => ms.toFixed(1)),
    ...[bare.loop.longestDelayMs, relist.loop.longestDelayMs].map((ms) => ms.toFixed(1)),
    ...[bare.loop.longestGcMs, relist.loop.longestGcMs].map((ms) => ms.toFixed(1)),
  ]),
)}
`;
}
