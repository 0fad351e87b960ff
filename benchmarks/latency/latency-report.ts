import { formatEstimate } from '../goals.js';
import { formatTable } from '../text-table.js';
import {
  type BareFigures,
  type LatencyFigures,
  type ModeFigures,
  type PartedFigures,
} from './latency-figures.js';

/** The section of the results page. */
export function formatLatencyReport(figures: readonly LatencyFigures[]): string {
  const [first] = figures;
  return `\`podloop run\` in each of its modes, one after the other, on one containerd: ${first?.pods ?? 0} pods of one container each are put down, and
each process is killed once by a SIGKILL from outside, one every ${first?.paceMs ?? 0} ms on average. It is each container's first
failure, which has no back-off. Milliseconds from the runtime's FinishedAt.

\`bare\` is the least that could be done: GetContainerEvents and one ContainerStatus, by podloop's own client in a process of its
own. It watches the deaths of the mode \`generic\`, which does not read the stream. \`event\` is what passed until the runtime's
event was there, \`calls\` while at least one call about the pod was not answered, as podloop saw it, and \`podloop\` all the rest:
its share is of the sum of all times. Waiting for the next look, which the mode \`generic\` does once a second, is podloop's, too.

\`p99 to bare\` is the ratio of the p99s, what was missed taken for one that lasted for ever. Turns, what was put down and killed in one
go, are drawn anew for its interval, of each side by itself. The lists that the mode \`generic\` asks for each second are work for the
runtime, too, and \`bare\` waits behind them; \`p99 to bare alone\` is the same ratio to its deaths one at a time, see below.

To the event (the line that says ContainerDied; lines have whole milliseconds, and are taken for one later):

${formatTable(
  [...PARTS, 'missed', 'twice', 'p99 to bare', 'p99 to bare alone'],
  figures.flatMap(({ release, bare, modes }) => [
    [...formatBare(release, bare), String(bare.missed), '–', '–', '–'],
    ...modes.map((one) => [
      ...formatParts(release, one, one.toEvent),
      ...[String(one.missed), String(one.repeated)],
      ...[formatEstimate(one.p99RatioToBare), formatEstimate(one.p99RatioToAlone)],
    ]),
  ]),
)}

To the replacement (the runtime's StartedAt of the next container):

${formatTable(
  PARTS,
  figures.flatMap(({ release, modes }) => modes.map((one) => formatParts(release, one, one.toReplacement))),
)}

Whether the pace makes the runtime itself slower: the same by the bare observer, at this pace and one at a time. \`native\` is
containerd's own event of the end, which comes before its CRI side has cleaned up after the process.

${formatTable(
  ['containerd', 'deaths', 'number', 'native p50', 'event p50', 'event p99', 'known p50', 'known p99'],
  figures.flatMap(({ release, bare, alone }) => [
    formatPace(release, 'at this pace', bare),
    formatPace(release, 'one at a time', alone),
  ]),
)}
`;
}

const PARTS = [
  ...['containerd', 'by', 'deaths', 'p50', 'p99', 'max'],
  ...['event p50', 'calls p50', 'podloop p50', 'podloop p99', 'podloop’s share'],
];

function formatParts(release: string, { mode }: ModeFigures, parts: PartedFigures): string[] {
  const { count, p50Ms, p99Ms, maxMs, eventMs, callsMs, ownMs, ownP99Ms, ownShare } = parts;
  return [
    ...[release, mode, String(count)],
    ...[p50Ms, p99Ms, maxMs, eventMs, callsMs, ownMs, ownP99Ms].map((ms) => ms.toFixed(1)),
    `${(100 * ownShare).toFixed(0)} %`,
  ];
}

function formatBare(release: string, { known, event }: BareFigures): string[] {
  const times = [known.p50Ms, known.p99Ms, known.maxMs, event.p50Ms, known.p50Ms - event.p50Ms];
  return [release, 'bare', String(known.count), ...times.map((ms) => ms.toFixed(1)), '–', '–', '–'];
}

function formatPace(release: string, pace: string, { known, event, native }: BareFigures): string[] {
  const times = [native.p50Ms, event.p50Ms, event.p99Ms, known.p50Ms, known.p99Ms];
  return [release, pace, String(known.count), ...times.map((ms) => ms.toFixed(1))];
}
