/**
 * What `podloop observe` costs beside a kubelet on whose node nothing happens.
 *
 * In: a containerd with so many pods of a real kubelet. Out: CPU and memory of the observer, and CPU of containerd and of the kubelet
 * without it, with it, and without it again, over as many minutes each.
 *
 * @module
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchProcess } from '../agents/bench-process.js';
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { type ProcessUsage, readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { AgentProcess } from '../kubelet/agent-process.js';
import { BenchNode, KUBELET_RELEASE } from '../kubelet/bench-node.js';
import { createContenders } from '../kubelet/contenders.js';
import { type Progress } from '../progress.js';
import { median } from '../stats.js';

/** How it is measured. */
export interface ObserveBenchmarkOptions {
  readonly kubelet: string;
  readonly pods: number;
  /** Of each of the three phases. */
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What one process used in one phase. */
export interface PhaseFigures {
  /** Of one core, percent. */
  readonly cpuPercent: number;
  /** The median over the windows. */
  readonly rssMiB: number;
  readonly wakeUpsPerSecond: number;
}

/** What was found. */
export interface ObserveFigures {
  readonly pods: number;
  readonly seconds: number;
  readonly observer: PhaseFigures;
  /** Before the observer came, while it was there, and after it had gone. */
  readonly containerd: readonly [PhaseFigures, PhaseFigures, PhaseFigures];
  readonly kubelet: readonly [PhaseFigures, PhaseFigures, PhaseFigures];
}

const WINDOW_S = 10;
const HEALTHY_WAIT_MS = 60_000;
/** A kubelet starts pods one after another. */
const RUNNING_WAIT_MS = 600_000;
/** What starts have set off is over by then, and the first examinations of an observer are. */
const SETTLE_MS = 60_000;
const SHORT_SETTLE_MS = 20_000;

/** Runs it; all that it starts has ended when it resolves. */
export async function runObserveBenchmark(options: ObserveBenchmarkOptions): Promise<ObserveFigures> {
  const { kubelet, pods, seconds, progress, signal } = options;
  progress.begin(`observe: ${pods} pods`);
  await using node = await BenchNode.start(KUBELET_RELEASE);
  const { endpoint, pid } = node.containerd;
  const contender = createContenders(kubelet).find(({ name }) => name === 'kubelet')!;
  const command = await contender.prepare({ endpoint, folder: node.folder });
  await using agent = await AgentProcess.start(command);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(HEALTHY_WAIT_MS)]);
  await waitUntilHealthy(agent.health, limit);
  for (let number = 1; number <= pods; number++) await node.writeManifest(`pod-${number}`);
  await node.untilRunning({ count: pods, waitMs: RUNNING_WAIT_MS, signal });
  const settle = async (): Promise<void> => {
    await sleep(seconds < 120 ? SHORT_SETTLE_MS : SETTLE_MS, undefined, { signal });
  };
  const measure = async (...pids: readonly number[]): Promise<PhaseFigures[]> =>
    measurePhase(pids, { seconds, progress, signal });
  await settle();
  const [before, kubeletBefore] = await measure(pid!, agent.pid);
  const found = await (async () => {
    const url = 'port' in command.health ? `http://127.0.0.1:${command.health.port}` : '';
    await using observer = await BenchProcess.start([
      ...['observe', '--runtime-endpoint', endpoint, '--root-dir', path.join(node.folder, 'observe')],
      ...['--kubelet-url', url, '--healthz-url', `${url}/healthz`, '--metrics-bind-address', '0'],
    ]);
    await settle();
    return await measure(observer.pid, pid!, agent.pid);
  })();
  await settle();
  const [after, kubeletAfter] = await measure(pid!, agent.pid);
  const [observer, containerd, kubeletWith] = found;
  return {
    ...{ pods, seconds, observer: observer! },
    containerd: [before!, containerd!, after!],
    kubelet: [kubeletBefore!, kubeletWith!, kubeletAfter!],
  };
}

async function measurePhase(
  pids: readonly number[],
  { seconds, progress, signal }: Pick<ObserveBenchmarkOptions, 'seconds' | 'progress' | 'signal'>,
): Promise<PhaseFigures[]> {
  const windows = pids.map((): ProcessUsage[] => []);
  const count = Math.max(1, Math.floor(seconds / WINDOW_S));
  let before = pids.map(readProcessUsage);
  for (let window = 1; window <= count; window++) {
    await sleep(WINDOW_S * 1_000, undefined, { signal });
    const after = pids.map(readProcessUsage);
    for (const [at, usage] of after.entries()) windows[at]!.push(usageBetween(before[at]!, usage));
    before = after;
    progress.step(window * WINDOW_S, count * WINDOW_S, 'seconds');
  }
  return windows.map(toPhase);
}

function toPhase(windows: readonly ProcessUsage[]): PhaseFigures {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const seconds = windows.length * WINDOW_S;
  return {
    cpuPercent: sum(windows.map(({ cpuMs }) => cpuMs)) / seconds / 10,
    rssMiB: median(windows.map(({ rssMiB }) => rssMiB)),
    wakeUpsPerSecond: sum(windows.map(({ wakeUps }) => wakeUps)) / seconds,
  };
}
