import { type ChurnSettings } from './churn-settings.js';
import { type ChurnConfiguration } from './run-churn.js';

/** Everything that a run of the churn test does. */
export interface ChurnPlan {
  /** Where the results go, in the repository; absent for a sample. */
  readonly resultsFolder: string | undefined;
  readonly settings: ChurnSettings;
  readonly configurations: readonly ChurnConfiguration[];
}

/** All releases, and on each every mode that can differ there. */
const ALL: readonly ChurnConfiguration[] = [
  { release: '1.6', mode: 'generic', through: 'library' },
  { release: '1.6', mode: 'generic', through: 'watch' },
  { release: '1.7', mode: 'generic', through: 'library' },
  { release: '1.7', mode: 'evented', through: 'library' },
  { release: '1.7', mode: 'auto', through: 'library' },
  { release: '2.1', mode: 'generic', through: 'watch' },
  { release: '2.1', mode: 'evented', through: 'library' },
  { release: '2.1', mode: 'auto', through: 'library' },
];

/** One of each kind: with every change, all of them run but the one that the seed leaves out. */
const SAMPLE: readonly ChurnConfiguration[] = [
  { release: '1.6', mode: 'generic', through: 'library' },
  { release: '1.7', mode: 'evented', through: 'library' },
  { release: '2.1', mode: 'generic', through: 'watch' },
  { release: '2.1', mode: 'auto', through: 'library' },
];

/**
 * Reads the plan from the environment: PODLOOP_CHURN=full for the whole of it (two minutes, five kills, every
 * configuration), and PODLOOP_CHURN_SEED, _PODS, _SECONDS, _KILLS and _ONLY (`1.7/evented/library`, or a part of it)
 * to repeat or change a run. Without a seed one is drawn; it is in whatever the run prints.
 */
export function readChurnPlan(env: NodeJS.ProcessEnv): ChurnPlan {
  const full = env['PODLOOP_CHURN'] === 'full';
  const number = (name: string, otherwise: number): number =>
    Number(env[`PODLOOP_CHURN_${name}`] ?? otherwise);
  const only = env['PODLOOP_CHURN_ONLY'];
  const named = ({ release, mode, through }: ChurnConfiguration): boolean =>
    only === undefined || `${release}/${mode}/${through}`.includes(only);
  const seed = number('SEED', Math.floor(Math.random() * 2 ** 31));
  const sample = SAMPLE.filter((_, index) => index !== seed % SAMPLE.length);
  return {
    resultsFolder: full ? 'docs/results' : undefined,
    settings: {
      seed,
      pods: number('PODS', 50),
      durationMs: number('SECONDS', full ? 120 : 15) * 1000,
      kills: number('KILLS', full ? 5 : 2),
    },
    configurations: (full || only !== undefined ? ALL : sample).filter(named),
  };
}
