/**
 * How long after a process ended its death is known, and how long until its container runs again, on a real containerd.
 *
 * In: a containerd of its own, and on it in turns `podloop run` in each of its modes. In each turn new pods of one
 * container are put down and each is killed once, a few a second, so that no back-off holds any of them: the first
 * restart is at once. Out: the time from the runtime's FinishedAt to the agent's event and to the runtime's StartedAt of
 * the replacement, and which part of either the runtime took. Beside the agent in mode generic, which leaves the event
 * stream alone, a process that does the least, a bare stream and one status call, watches the same deaths. Some of its
 * deaths come one at a time: they show whether the runtime itself is slower at the pace of the others.
 *
 * @module
 */
import { type FoundParts } from '../scenario.js';
import { type PlegMode } from '#watch';
import { type Release } from '../../test/containerd/harness/installed.js';
import { BenchNode } from '../kubelet/bench-node.js';
import { type Progress } from '../progress.js';
import { createRandom } from '../stats.js';
import { type LatencyFigures, type Samples, toLatencyFigures } from './latency-figures.js';
import { type DeathSample, measureTurn, type TurnOptions } from './latency-turn.js';
import { NativeEvents } from './native-events.js';

export interface LatencyBenchmarkOptions {
  readonly releases: readonly Release[];
  /** Deaths for each mode, on the first release. */
  readonly deaths: number;
  /** The same on each of the others. */
  readonly otherDeaths: number;
  readonly progress: Progress;
  /** Turns that were over before an interruption. */
  readonly parts: FoundParts;
  readonly signal: AbortSignal;
}

/** Pods at a time. */
const PODS = 50;
/** Each death sets off a replacement, which keeps two cores busy for about a third of this time. */
const EVERY_MS = 250;
/** Nothing of a death is left by then. */
const ALONE_EVERY_MS = 1_500;
/** One in so many of the bare observer's deaths comes alone. */
const ALONE_SHARE = 10;
const MODES: readonly PlegMode[] = ['generic', 'evented', 'auto'];

/** Runs the benchmark on every release. */
export async function runLatencyBenchmark(options: LatencyBenchmarkOptions): Promise<LatencyFigures[]> {
  const figures: LatencyFigures[] = [];
  for (const [at, release] of options.releases.entries()) {
    const deaths = at === 0 ? options.deaths : options.otherDeaths;
    figures.push(await measureRelease(release, deaths, options));
  }
  return figures;
}

async function measureRelease(
  release: Release,
  deaths: number,
  { progress, parts, signal }: LatencyBenchmarkOptions,
): Promise<LatencyFigures> {
  progress.begin(`latency: containerd ${release}`);
  await using node = await BenchNode.start(release);
  await using native = await NativeEvents.start(node.containerd);
  const samples: Samples = { modes: { generic: [], evented: [], auto: [] }, alone: [] };
  const rounds = Math.ceil(deaths / PODS);
  const alone = Math.max(1, Math.floor(deaths / ALONE_SHARE));
  let turns = 0;
  const turn = async (
    own: Pick<TurnOptions, 'mode' | 'name' | 'deaths' | 'everyMs' | 'withBare'>,
  ): Promise<DeathSample[]> => {
    const part = `${release} ${own.name}`;
    const random = createRandom(++turns);
    const found = parts.find(part) as DeathSample[] | undefined;
    if (found !== undefined) return found;
    const measured = await measureTurn({ ...own, node, native, random, signal });
    await parts.keep(part, measured);
    return measured;
  };
  for (let round = 0; round < rounds; round++) {
    const count = Math.min(PODS, deaths - round * PODS);
    for (let at = 0; at < MODES.length; at++) {
      // Who begins changes from round to round.
      const mode = MODES[(round + at) % MODES.length]!;
      const own = { mode, name: `${mode}-${round}`, deaths: count, withBare: mode === 'generic' };
      samples.modes[mode].push(await turn({ ...own, everyMs: EVERY_MS }));
    }
    // Spread over the run, as the others are.
    const due = Math.min(PODS, Math.round((alone * (round + 1)) / rounds) - samples.alone.flat().length);
    if (due >= PODS / 2 || round === rounds - 1) {
      const own = { mode: 'generic', name: `alone-${round}`, deaths: due, withBare: true } as const;
      if (due > 0) samples.alone.push(await turn({ ...own, everyMs: ALONE_EVERY_MS }));
    }
    progress.step(round + 1, rounds, 'rounds');
  }
  return toLatencyFigures(release, node.containerd.packageVersion, { everyMs: EVERY_MS }, samples);
}
