import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from '../../test/containerd/harness/processes.js';
import { isHealthy } from '../agents/is-healthy.js';
import { readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { toMs } from './bench-node.js';
import { type DeathFigures, followDeaths, type PhaseContext } from './follow-deaths.js';

/** Many pods put down at once. */
export interface MassStartFigures {
  readonly pods: number;
  /** Until the last of them started, by the runtime's record. */
  readonly allRunningMs: number;
  /** The agent's own. */
  readonly cpuMs: number;
}

/** An agent that has nothing to do. */
export interface IdleFigures {
  /** Of one core. */
  readonly cpuPercent: number;
  /** At the end. */
  readonly rssMiB: number;
  readonly containers: number;
}

/** An agent that has come to a node that is full. */
export interface RestartFigures {
  readonly running: number;
  readonly exited: number;
  /** Undefined: not within the time. */
  readonly healthyMs: number | undefined;
  readonly isHealthyAtEnd: boolean;
  /** Of those that ran and that nobody killed, how many do not run any more. */
  readonly disturbed: number;
  readonly deaths: DeathFigures;
}

/** The runtime starts about six pods a second where this was tried: none takes that long that gets there at all. */
const MASS_WAIT_MS = 240_000;
const MASS_POLL_MS = 200;
const RESTART_WAIT_MS = 60_000;
/** Not while it takes up what was there. */
const SETTLE_MS = 10_000;

/** Until all pods that are put down at once run. */
export async function measureMassStart(
  { node, agent, signal }: PhaseContext,
  { name, pods, inits = 0 }: { readonly name: string; readonly pods: number; readonly inits?: number },
): Promise<MassStartFigures> {
  const there = new Set((await node.running()).map(({ id }) => id));
  const before = readProcessUsage(agent.pid);
  const beganMs = Date.now();
  for (let at = 0; at < pods; at++) await node.writeManifest(`${name}-${at}`, { inits });
  const check = (): void => agent.check();
  const running = await node.untilRunning({ count: pods, gone: there, waitMs: MASS_WAIT_MS, signal, check });
  const { cpuMs } = usageBetween(before, readProcessUsage(agent.pid));
  let lastMs = 0;
  for (const { id } of running) lastMs = Math.max(lastMs, toMs((await node.statusOf(id)).startedAt));
  return { pods, allRunningMs: lastMs - beganMs, cpuMs };
}

/** What the agent uses while nothing happens. */
export async function measureIdle(
  { node, agent, signal }: PhaseContext,
  { settleMs, forMs }: { readonly settleMs: number; readonly forMs: number },
): Promise<IdleFigures> {
  const containers = (await node.running()).length;
  await sleep(settleMs, undefined, { signal });
  const before = readProcessUsage(agent.pid);
  const beganMs = performance.now();
  await sleep(forMs, undefined, { signal });
  const { cpuMs, rssMiB } = usageBetween(before, readProcessUsage(agent.pid));
  return { cpuPercent: (100 * cpuMs) / (performance.now() - beganMs), rssMiB, containers };
}

/** Kills every container that runs, at once. */
export async function measureMassKill(context: PhaseContext): Promise<DeathFigures> {
  const targets = await context.node.targets();
  await Promise.all(targets.map((target) => signalProcess(target, 'SIGKILL')));
  return await followDeaths(context, targets, { waitMs: MASS_WAIT_MS, pollMs: MASS_POLL_MS });
}

/**
 * Whether an agent that has just come to a full node is of use: healthy in so long, nothing restarted that was well, and what is
 * killed then is told of and replaced.
 *
 * Killed are containers of the pods whose names begin as told, for the first time.
 */
export async function measureAfterRestart(
  context: PhaseContext,
  { kills, ofPods }: { readonly kills: number; readonly ofPods: string },
): Promise<RestartFigures> {
  const { node, agent, signal } = context;
  const beganMs = performance.now();
  const all = (await node.containers()).length;
  const before = await node.running();
  let healthyMs: number | undefined;
  while (healthyMs === undefined && performance.now() - beganMs < RESTART_WAIT_MS) {
    agent.check();
    if (await isHealthy(agent.health, signal)) healthyMs = performance.now() - beganMs;
    else await sleep(50, undefined, { signal });
  }
  await sleep(SETTLE_MS, undefined, { signal });
  const after = new Set((await node.running()).map(({ id }) => id));
  const targets = (await node.targets()).filter(({ podName }) => podName.startsWith(ofPods)).slice(0, kills);
  await Promise.all(targets.map((target) => signalProcess(target, 'SIGKILL')));
  const follow = { waitMs: RESTART_WAIT_MS, pollMs: MASS_POLL_MS };
  const deaths = await followDeaths(context, targets, follow);
  return {
    ...{ running: before.length, exited: all - before.length, healthyMs },
    isHealthyAtEnd: await isHealthy(agent.health, signal),
    disturbed: before.filter(({ id }) => !after.has(id)).length,
    deaths,
  };
}
