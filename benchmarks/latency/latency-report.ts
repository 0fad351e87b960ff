import { formatTable } from '../text-table.js';
import { type LatencyFigures } from './latency-benchmark.js';

/** The section of the results page. */
export function formatLatencyReport(figures: readonly LatencyFigures[]): string {
  const rows = figures.flatMap(({ release, observers }) =>
    observers.map((one) => [
      release,
      one.observer,
      String(one.deaths),
      String(one.missed),
      one.p50Ms.toFixed(1),
      one.p99Ms.toFixed(1),
      one.maxMs.toFixed(1),
      one.nativeP50Ms.toFixed(1),
      one.ratioToBare === undefined
        ? '–'
        : `${one.ratioToBare.value.toFixed(2)} [${one.ratioToBare.low.toFixed(2)}, ${one.ratioToBare.high.toFixed(2)}]`,
    ]),
  );
  return `From the end of a process (the runtime's FinishedAt, after a SIGKILL from outside) until its death is known with its exit
code, milliseconds. ${figures[0]?.pods ?? 0} pods of one container. \`bare\` is GetContainerEvents and one ContainerStatus by the same client;
\`generic\`, \`evented\` and \`auto\` are ContainerDied out of a subscription. \`native\` is what containerd's own event stream took
for the same deaths: it speaks before the runtime's CRI side has cleaned up after the process. The observers take turns.
The last column is the ratio of the means to \`bare\` with its 95 % bootstrap interval. On 1.7 a reader that has left takes one more event
with it, which the next one never gets: \`bare\` then misses that death, a generator finds it at its next relist.

${formatTable(['containerd', 'observer', 'deaths', 'missed', 'p50', 'p99', 'max', 'native p50', 'to bare'], rows)}
`;
}
