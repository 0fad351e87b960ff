import { distributionOf, linePlot, type Plot, type Series } from '../plot.js';
import { type Scenario, type ScenarioContext, toCount } from '../scenario.js';
import { count, listOf, oneOf } from '../setting-shapes.js';
import { type Release, RELEASES } from '../../test/containerd/harness/installed.js';
import { runLatencyBenchmark } from './latency-benchmark.js';
import { judgeLatency } from './judge-latency.js';
import { type LatencyFigures } from './latency-figures.js';
import { formatLatencyReport } from './latency-report.js';

/** From a process's end to its event and to its replacement. */
export const LATENCY: Scenario = {
  name: 'latency',
  title: 'Latency',
  about: 'from a process’s end to its event and to its replacement',
  runtimes: 'containerd',
  needs: ['root', 'build', 'containerd'],
  fullMinutes: 49,
  releases: toReleases,
  settings: [
    {
      name: 'releases',
      takes: listOf(oneOf(RELEASES)),
      placeholder: 'R,R',
      about: 'of containerd; those before 1.7 have no events',
      short: '2.1',
      full: '2.1,1.7',
    },
    {
      name: 'deaths',
      takes: count({ most: 20_000 }),
      placeholder: 'N',
      about: 'in each mode, on the first release',
      short: '20',
      full: '1000',
    },
    {
      name: 'other-deaths',
      takes: count({ most: 20_000 }),
      placeholder: 'N',
      about: 'the same on each of the others',
      short: '20',
      full: '200',
    },
  ],
  run: async ({ setting, progress, parts, signal }) => {
    const figures = await runLatencyBenchmark({
      releases: toReleases(setting),
      deaths: toCount(setting('deaths')),
      otherDeaths: toCount(setting('other-deaths')),
      ...{ progress, parts, signal },
    });
    return {
      figures,
      text: formatLatencyReport(figures),
      goals: figures.flatMap(judgeLatency),
      plots: figures.flatMap(plot),
    };
  },
};

function plot({ release, bare, modes }: LatencyFigures): Plot[] {
  const draw = (name: string, what: string, series: readonly Series[]): Plot => ({
    name: `latency-${name}-${release}`,
    alt: `Share of deaths after so many milliseconds: ${what}, containerd ${release}`,
    svg: linePlot({
      title: `From a process’s end to ${what}, containerd ${release}`,
      x: { label: 'ms', scale: 'log' },
      y: { label: 'share of deaths' },
      ...{ series, steps: true },
    }),
  });
  return [
    // The bare observer comes last, so that a mode has its colour in both.
    draw('event', 'its event', [
      ...modes.map(({ mode, toEvent }) => distributionOf(mode, toEvent.everyMs)),
      distributionOf('bare', bare.known.everyMs),
    ]),
    draw(
      'replacement',
      'its replacement',
      modes.map(({ mode, toReplacement }) => distributionOf(mode, toReplacement.everyMs)),
    ),
  ];
}

function toReleases(setting: ScenarioContext['setting']): Release[] {
  return setting('releases').split(',').map(toRelease);
}

function toRelease(text: string): Release {
  const release = RELEASES.find((known) => known === text);
  if (release === undefined) throw new Error(`containerd "${text}" is none of ${RELEASES.join(', ')}`);
  return release;
}
