import { formatEstimate } from '../goals.js';
import { distributionOf, linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount } from '../scenario.js';
import { count } from '../setting-shapes.js';
import { bootstrapRatio, median, quantile } from '../stats.js';
import { formatTable } from '../text-table.js';
import { judgePull, type PullFigures } from './judge-pull.js';
import { runPullBenchmark } from './pull-benchmark.js';

const RELEASE = '2.1';

/** Pulls of an image, next to containerd's. */
export const PULL: Scenario = {
  name: 'pull',
  title: 'Pulls',
  about: 'of an image of many layers from a registry, next to containerd',
  runtimes: 'the one in the box, and containerd',
  needs: ['root', 'build', 'containerd'],
  fullMinutes: 15,
  releases: () => [RELEASE],
  settings: [
    {
      name: 'pull-megabytes',
      takes: count({ most: 4_000 }),
      placeholder: 'N',
      about: 'of compressed layers',
      short: '300',
    },
    { name: 'pull-layers', takes: count({ most: 100 }), placeholder: 'N', about: 'of the image', short: '8' },
    {
      name: 'pull-rounds',
      takes: count({ most: 100 }),
      placeholder: 'N',
      about: 'of each side, in turns',
      short: '2',
      full: '12',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runPullBenchmark({
      release: RELEASE,
      layers: toCount(setting('pull-layers')),
      megabytes: toCount(setting('pull-megabytes')),
      rounds: toCount(setting('pull-rounds')),
      ...{ progress, signal },
    });
    return {
      figures,
      text: formatPullReport(figures),
      goals: [judgePull(figures)],
      plots: [plotPulls(figures)],
    };
  },
};

function formatPullReport({ bytes, layers, podloop, containerd }: PullFigures): string {
  const ratio = bootstrapRatio(podloop.coldMs, containerd.coldMs, median);
  const warm = bootstrapRatio(podloop.warmMs, containerd.warmMs, median);
  const rows = [podloop, containerd].map(({ name, coldMs, warmMs, peakMiB }) => [
    ...[name, String(coldMs.length)],
    ...[0.5, 1].map((q) => (quantile(coldMs, q) / 1_000).toFixed(2)),
    median(warmMs).toFixed(1),
    Math.max(...peakMiB).toFixed(0),
  ]);
  return `An image of ${layers} layers, together ${Math.round(bytes / 1e6)} MB as they are sent (gzip), is pulled through CRI from a registry on
loopback, until it is unpacked; then it is pulled again, and removed. Before each cold pull nothing of it is in the store. When they answer
both have the layers on the disk (\`fsync\`), and the unpacked files perhaps in memory. The peak is that of the runtime's process.

${formatTable(['who', 'rounds', 'cold p50 s', 'cold max s', 'warm p50 ms', 'peak MiB'], rows)}

podloop over containerd, by the medians: cold ${formatEstimate(ratio)}, warm ${formatEstimate(warm)}.
`;
}

function plotPulls({ bytes, layers, podloop, containerd }: PullFigures): Plot {
  return {
    name: 'pull',
    alt: 'Share of cold pulls that were done after so many milliseconds',
    svg: linePlot({
      title: `Cold pulls of ${Math.round(bytes / 1e6)} MB in ${layers} layers`,
      x: { label: 'ms', scale: 'log' },
      y: { label: 'share of pulls' },
      series: [podloop, containerd].map(({ name, coldMs }) => distributionOf(name, coldMs)),
      steps: true,
    }),
  };
}
