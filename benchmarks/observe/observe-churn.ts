import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { BenchProcess } from '../agents/bench-process.js';
import { readProcessUsage } from '../agents/process-usage.js';
import { floorsOf, slopeOf, type TimedValue } from '../churn/slope.js';
import { SyntheticChurn } from '../churn/synthetic-churn.js';
import { atMost, type Goal } from '../goals.js';
import { type Progress } from '../progress.js';
import { type Scenario, toCount } from '../scenario.js';
import { count, SECONDS } from '../setting-shapes.js';
import { type Estimate } from '../stats.js';

const PODS = 110;
const SLOPE_LIMIT_MIB = 5;
/** In it the flight recorder's five minutes fill, and code is compiled. */
const WARM_UP_SHARE = 0.4;
const JUDGED_SECONDS = 7_200;
const FLOOR_S = 60;

/** What was found. */
export interface ObserveChurnFigures {
  readonly seconds: number;
  readonly deathsPerSecond: number;
  /** MiB; after the warm-up, from the least of each minute. */
  readonly first: number;
  readonly last: number;
  readonly growthAnHour: Estimate;
}

/** An observer of a node on which containers end and are replaced all the time. */
export const OBSERVE_CHURN: Scenario = {
  name: 'observe-churn',
  title: 'An observer under churn',
  about: 'whether the memory of podloop observe grows while containers end',
  runtimes: 'synthetic, in a process of its own',
  needs: ['build'],
  fullMinutes: 121,
  settings: [
    {
      name: 'observe-churn-seconds',
      takes: SECONDS,
      placeholder: 'N',
      about: 'how long',
      short: '60',
      full: String(JUDGED_SECONDS),
    },
    {
      name: 'observe-churn-deaths',
      takes: count({ most: 50 }),
      placeholder: 'N',
      about: 'containers that end each second',
      short: '5',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runObserveChurn({
      seconds: toCount(setting('observe-churn-seconds')),
      deathsPerSecond: toCount(setting('observe-churn-deaths')),
      ...{ progress, signal },
    });
    return { figures, text: formatReport(figures), goals: judgeObserveChurn(figures) };
  },
};

/** The upper end is judged. */
function judgeObserveChurn({ seconds, growthAnHour }: ObserveChurnFigures): Goal[] {
  const what = 'growth of the resident memory of podloop observe in an hour of churn, upper end';
  const goal = atMost(what, growthAnHour.high, SLOPE_LIMIT_MIB, 'MiB');
  if (seconds >= JUDGED_SECONDS) return [goal];
  return [{ ...goal, met: undefined, unjudged: `${seconds} seconds` }];
}

async function runObserveChurn(options: {
  readonly seconds: number;
  readonly deathsPerSecond: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}): Promise<ObserveChurnFigures> {
  const { seconds, deathsPerSecond, progress, signal } = options;
  progress.begin(`observe under churn: ${deathsPerSecond} deaths a second`);
  const folder = await mkdtemp(path.join(tmpdir(), 'podloop-observe-churn-'));
  try {
    await using synthetic = await spawnSyntheticRuntime({ pods: PODS, containersPerPod: 1 });
    await using observer = await BenchProcess.start([
      ...['observe', '--runtime-endpoint', synthetic.endpoint, '--root-dir', path.join(folder, 'observe')],
      ...['--kubelet-url', '', '--healthz-url', '', '--metrics-bind-address', '0'],
    ]);
    const churn = new SyntheticChurn(synthetic.control);
    const values: TimedValue[] = [];
    const beganMs = performance.now();
    for (let second = 0; second < seconds; second++) {
      await sleep(Math.max(0, beganMs + second * 1_000 - performance.now()), undefined, { signal });
      await churn.tick(deathsPerSecond);
      values.push({ atS: second, value: readProcessUsage(observer.pid).rssMiB });
      progress.step(second, seconds, 'seconds');
    }
    const floors = floorsOf(
      values.filter(({ atS }) => atS >= seconds * WARM_UP_SHARE),
      Math.min(FLOOR_S, seconds / 20),
    );
    const { value, low, high } = slopeOf(floors);
    return {
      ...{ seconds, deathsPerSecond, first: floors[0]!.value, last: floors.at(-1)!.value },
      growthAnHour: { value: value * 3_600, low: low * 3_600, high: high * 3_600 },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function formatReport({ seconds, deathsPerSecond, first, last, growthAnHour }: ObserveChurnFigures): string {
  const { value, low, high } = growthAnHour;
  return `${PODS} pods in a synthetic runtime, of which ${deathsPerSecond} containers end each second for ${seconds} seconds, are replaced and
removed. Memory is what is resident, the least of each minute, after the first ${WARM_UP_SHARE * 100} % of the time: the flight recorder fills for
five minutes.

From ${first.toFixed(0)} MiB to ${last.toFixed(0)} MiB; ${value.toFixed(1)} [${low.toFixed(1)}, ${high.toFixed(1)}] MiB an hour.
`;
}
