import { setTimeout as sleep } from 'node:timers/promises';
import { isHealthy } from '../agents/is-healthy.js';
import { readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { type AgentProcess } from './agent-process.js';
import { toMs } from './bench-node.js';
import {
  countRepeated,
  type DeathFigures,
  followDeaths,
  type FollowedDeaths,
  type PhaseContext,
} from './follow-deaths.js';
import { waitForRelist } from './wait-for-relist.js';

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
  /** From then on its page said so, and its log nothing else; undefined: not within the time. */
  readonly healthyMs?: number | undefined;
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
export async function measureMassKill(context: PhaseContext): Promise<FollowedDeaths> {
  const targets = await context.node.targets();
  return await followDeaths(context, targets, { waitMs: MASS_WAIT_MS, pollMs: MASS_POLL_MS });
}

/** How {@link measureAfterRestart} goes about it. */
export interface RestartOptions {
  /** Starts the agent that comes to the node. */
  readonly start: () => Promise<AgentProcess>;
  readonly kills: number;
  /** Killed are containers of the pods whose names begin so, for the first time. */
  readonly ofPods: string;
}

/**
 * Whether an agent that has just come to a full node is of use: healthy in so long, nothing restarted that was well, and what is
 * killed then is told of and replaced.
 */
export async function measureAfterRestart(
  { node, signal }: Pick<PhaseContext, 'node' | 'signal'>,
  { start, kills, ofPods }: RestartOptions,
): Promise<RestartFigures> {
  // Before the agent is there, which may disturb them at once.
  const all = (await node.containers()).length;
  const before = await node.running();
  const beganMs = Date.now();
  await using agent = await start();
  let answeredMs: number | undefined;
  while (answeredMs === undefined && Date.now() - beganMs < RESTART_WAIT_MS) {
    agent.check();
    if (await isHealthy(agent.health, signal)) answeredMs = Date.now() - beganMs;
    else await sleep(50, undefined, { signal });
  }
  await sleep(SETTLE_MS, undefined, { signal });
  const complaintMs = agent.healthLog.findLast(beganMs) ?? beganMs;
  const isWell = answeredMs !== undefined && agent.healthLog.isQuiet();
  const after = new Set((await node.running()).map(({ id }) => id));
  const targets = (await node.targets()).filter(({ podName }) => podName.startsWith(ofPods)).slice(0, kills);
  const follow = { waitMs: RESTART_WAIT_MS, pollMs: MASS_POLL_MS };
  const followed = await followDeaths({ node, agent, signal }, targets, follow);
  await waitForRelist(agent, signal);
  return {
    ...{ running: before.length, exited: all - before.length },
    healthyMs: isWell ? Math.max(answeredMs!, complaintMs - beganMs) : undefined,
    isHealthyAtEnd: (await isHealthy(agent.health, signal)) && agent.healthLog.isQuiet(),
    disturbed: before.filter(({ id }) => !after.has(id)).length,
    deaths: countRepeated(followed, agent.events),
  };
}
