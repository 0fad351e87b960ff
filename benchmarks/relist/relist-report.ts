import { formatEstimate, verdictOf } from '../goals.js';
import { formatTable } from '../text-table.js';
import { GROWTH_FROM, growthOf, ratioOfOne, toSized } from './growth.js';
import { judgeWall, TIME_LIMIT } from './judge-relist.js';
import { type RelistFigures } from './relist-benchmark.js';

/** What one container costs on the largest node is held against what it costs on one of so many. */
const USUAL_CONTAINERS = 1_000;

/** The section of the results page. */
export function formatRelistReport(figures: readonly RelistFigures[]): string {
  return `An idle relist next to the bare list calls: ListPodSandbox and ListContainers in flight together over a connection of the
same kind, id and state of each item read by hand and compared by bytes with what is known, without an object or a string. Alternating rounds of several runs each, some 250 ms, after two runs of the same side that are not
timed: so that less of what one side’s answers leave to the collector is paid by the next. A round counts as the mean of its runs.
Brackets hold the 95 % bootstrap interval of the ratio relist / bare. Within ${TIME_LIMIT} means that the interval of the means
ends below it, which is the goal; the medians stand beside it, and p10 is the ratio of the fast rounds, which others at work on the
machine disturb least. Rounds are taken until the interval is narrow, or the time is over.

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
    verdictOf(judgeWall(one)),
    formatEstimate(one.ratioOfP10),
    formatEstimate(one.cpuRatio),
  ]),
)}

Where a relist’s time goes: means in ms, of relists in the same rounds whose calls and lists are listened to, which costs what
\`listened\` is above \`relist\`. The parts add up to \`listened\`. \`calls\` lasts until both answers are there;
neither is read before; \`decode\` until the runtime has handed out its pods, \`diff\` is comparing with the records, and
\`rest\` all that is left: taking stamps, asking who is due, telling. CPU is that of the whole process, of its other threads too;
that of the diff cannot be told from that of the rest.

${formatTable(
  [
    ...['containers', 'relist', 'listened', 'calls', 'decode', 'diff', 'rest'],
    ...['CPU', 'CPU calls', 'CPU decode', 'CPU diff and rest', 'rounds', 'runs a round'],
  ],
  figures.map(({ containers, relist, parts, rounds, runsPerRound }) => [
    String(containers),
    ...[relist.meanMs, parts.totalMs, parts.callsMs, parts.decodeMs, parts.diffMs, parts.restMs].map((ms) =>
      ms.toFixed(2),
    ),
    ...[parts.cpuMs, parts.callsCpuMs, parts.decodeCpuMs, parts.restCpuMs].map((ms) => ms.toFixed(2)),
    ...[String(rounds), String(runsPerRound)],
  ]),
)}

${formatGrowth(figures)}How long the event loop was kept at most (ms), the worst of all probed rounds. A turn is all that ran between two visits of the
loop's check phase, the collector's pauses included; timer is by what a due timer was late. Without the pauses, a relist's turns
are the transport's until the last answer is there (HTTP/2 frames, assembling the message). What comes after it is podloop's
own: it reads neither list before it has both.

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
the bare lists of ${formatEstimate(bare)}; 1 is in proportion. ${formatShareOfOne(figures)}

`;
}

function formatShareOfOne(figures: readonly RelistFigures[]): string {
  const usual = figures.find(({ containers }) => containers === USUAL_CONTAINERS);
  const largest = figures.reduce((one, other) => (other.containers > one.containers ? other : one));
  if (usual === undefined || largest === usual) return '';
  const ratioOf = (side: 'bare' | 'relist'): string =>
    formatEstimate(ratioOfOne(toSized(largest, side), toSized(usual, side)));
  return `One container of ${largest.containers} takes ${ratioOf('relist')} times
what one of ${usual.containers} does in a relist, and ${ratioOf('bare')} times in the bare lists.`;
}
