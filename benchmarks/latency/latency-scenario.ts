import { type Goal, ratioAtMost } from '../goals.js';
import { distributionOf, linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount } from '../scenario.js';
import { type Release, RELEASES } from '../../test/containerd/harness/installed.js';
import { type LatencyFigures, runLatencyBenchmark } from './latency-benchmark.js';
import { formatLatencyReport } from './latency-report.js';

/** By how much an event may come later than by a bare stream and one status call. */
const P99_LIMIT = 3;

/** From a process's end to its event. */
export const LATENCY: Scenario = {
  name: 'latency',
  title: 'Latency',
  about: 'from a process’s end to its event',
  runtimes: 'containerd',
  needs: ['root', 'containerd'],
  fullMinutes: 120,
  settings: [
    {
      name: 'releases',
      placeholder: 'R,R',
      about: 'of containerd; those before 1.7 have no events',
      short: '2.1',
    },
    {
      name: 'deaths',
      placeholder: 'N',
      about: 'for each way of finding out',
      short: '20',
      full: '1000',
    },
  ],
  run: async ({ setting, progress }) => {
    const figures = await runLatencyBenchmark({
      releases: setting('releases').split(',').map(toRelease),
      deaths: toCount(setting('deaths')),
      progress,
    });
    return {
      figures,
      text: formatLatencyReport(figures),
      goals: figures.flatMap(judge),
      plots: figures.map(distribution),
    };
  },
};

function judge({ release, observers }: LatencyFigures): Goal[] {
  return observers
    .filter(({ observer }) => observer === 'evented' || observer === 'auto')
    .flatMap(({ observer, p99RatioToBare }) =>
      p99RatioToBare === undefined
        ? []
        : [
            ratioAtMost(
              `p99 from end to event, ${observer}, containerd ${release}`,
              p99RatioToBare,
              P99_LIMIT,
              'a bare event stream and one status call',
            ),
          ],
    );
}

function distribution({ release, observers }: LatencyFigures): Plot {
  const svg = linePlot({
    title: `From a process’s end to its event, containerd ${release}`,
    x: { label: 'ms', scale: 'log' },
    y: { label: 'share of deaths' },
    series: observers.map(({ observer, observedMs }) => distributionOf(observer, observedMs)),
    steps: true,
  });
  return {
    name: `latency-${release}`,
    alt: `Share of deaths that are known after so many milliseconds, containerd ${release}`,
    svg,
  };
}

function toRelease(text: string): Release {
  const release = RELEASES.find((known) => known === text);
  if (release === undefined) throw new Error(`containerd "${text}" is none of ${RELEASES.join(', ')}`);
  return release;
}
