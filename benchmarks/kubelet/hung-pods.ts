import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from '../../test/containerd/harness/processes.js';
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { readPage } from '../agents/read-page.js';
import { withDeadline } from '../with-deadline.js';
import { AgentProcess } from './agent-process.js';
import { BenchNode, KUBELET_RELEASE, toMs } from './bench-node.js';
import { Chaos } from './chaos.js';
import { type Contender } from './contenders.js';
import { findHung } from './find-hung.js';
import { HealthWatch } from './health-watch.js';
import { GENERATOR_PAGE } from './wait-for-relist.js';

/** How the deaths of everybody else were told of while status calls about some pods hang. */
export interface HungPodFigures {
  /** 0 shows what is usual on such a node. */
  readonly hungPods: number;
  readonly deaths: number;
  /** From the end as the runtime has it to the event, milliseconds, of those that were told of. */
  readonly toEventMs: readonly number[];
  readonly missed: number;
  /** Told of more than once. */
  readonly repeated: number;
  /** For how long calls hung. */
  readonly hungForMs: number;
  /** How many calls were held; with 0 nothing hung, whatever the rules said. */
  readonly heldCalls: number;
  /** After so long of it the agent was unhealthy for the first time; undefined: never. */
  readonly firstUnhealthyMs?: number | undefined;
  /** How many of the hung pods its page about its generator says to hang at the end; undefined: it has none. */
  readonly named?: number | undefined;
}

export interface HungPodOptions {
  readonly pods: number;
  readonly hungPods: number;
  readonly deaths: number;
  readonly everyMs: number;
  /** After the last death, for what is not told of. */
  readonly waitMs: number;
  /** At least so long calls hang, though all was told of: an agent may become unhealthy late. */
  readonly hangMs: number;
  readonly signal: AbortSignal;
}

const START_WAIT_MS = 60_000;
/** For the runtime to know of an end. */
const RECORD_WAIT_MS = 30_000;

/** Puts `podloop chaos` in front of an agent, lets calls about some pods hang, and kills containers of the others. */
export async function measureHungPods(
  contender: Contender,
  { pods, hungPods, deaths, everyMs, waitMs, hangMs, signal }: HungPodOptions,
): Promise<HungPodFigures> {
  await using node = await BenchNode.start(KUBELET_RELEASE);
  await using chaos = await Chaos.start(node, signal);
  await using agent = await AgentProcess.start(
    await contender.prepare({ endpoint: chaos.endpoint, folder: node.folder }),
  );
  await waitUntilHealthy(agent.health, signal);
  for (let at = 0; at < pods; at++) await node.writeManifest(`pod-${at}`);
  const check = (): void => agent.check();
  await node.untilRunning({ count: pods, waitMs: START_WAIT_MS, signal, check });
  await sleep(5_000, undefined, { signal });
  const targets = (await node.targets()).toSorted((one, other) => one.podName.localeCompare(other.podName));
  const hung = targets.slice(0, hungPods);
  if (hungPods > 0)
    await chaos.hang(
      hung.map(({ podName }) => `default/${podName}`),
      signal,
    );
  const beganMs = performance.now();
  await using health = new HealthWatch(agent, signal);
  // A hang shows only where somebody asks: their ends make it so.
  for (const target of hung) await signalProcess(target, 'SIGKILL');
  const killed = targets.slice(hungPods, hungPods + deaths);
  const endedMs = new Map<string, number>();
  for (const target of killed) {
    await sleep(everyMs, undefined, { signal });
    await signalProcess(target, 'SIGKILL');
    endedMs.set(target.containerId, await readEndMs(node, target.containerId, signal));
  }
  const isTold = ({ containerId }: { readonly containerId: string }): boolean =>
    agent.events.findDeath(containerId) !== undefined;
  const leastMs = beganMs + hangMs;
  const deadlineMs = Math.max(performance.now() + waitMs, leastMs);
  for (;;) {
    agent.check();
    const nowMs = performance.now();
    if (nowMs >= deadlineMs || (nowMs >= leastMs && killed.every(isTold))) break;
    await sleep(100, undefined, { signal });
  }
  const told = killed.filter(isTold);
  const page = await readPage(agent.health, GENERATOR_PAGE, signal);
  return {
    ...{ hungPods, deaths: killed.length, missed: killed.length - told.length },
    repeated: told.filter(({ containerId }) => agent.events.findDeath(containerId)!.times > 1).length,
    toEventMs: told.map(
      ({ containerId }) =>
        agent.events.findDeath(containerId)!.atMs + agent.logStepMs - endedMs.get(containerId)!,
    ),
    ...{ hungForMs: performance.now() - beganMs, heldCalls: chaos.heldCalls },
    firstUnhealthyMs: health.firstUnhealthyMs,
    named:
      page === undefined
        ? undefined
        : findHung(
            page,
            hung.map(({ podName }) => podName),
          ).length,
  };
}

/** When a container that was killed has ended, as the runtime itself remembers it, which may take it a moment. */
async function readEndMs(node: BenchNode, containerId: string, signal: AbortSignal): Promise<number> {
  return await withDeadline(`for the end of ${containerId}`, RECORD_WAIT_MS, signal, async (within) => {
    for (;;) {
      const { finishedAt } = await node.statusOf(containerId);
      if (finishedAt !== 0n) return toMs(finishedAt);
      await sleep(50, undefined, { signal: within });
    }
  });
}
