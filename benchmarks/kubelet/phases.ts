import { setTimeout as sleep } from 'node:timers/promises';
import { isHealthy } from '../agents/is-healthy.js';
import { readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { type AgentProcess } from './agent-process.js';
import { type BenchNode, podNameOf, type Target, toMs } from './bench-node.js';

/** What a phase works with. */
export interface PhaseContext {
  readonly node: BenchNode;
  readonly agent: AgentProcess;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Ends of containers, and what was made of them; milliseconds from the runtime's record of the end. */
export interface DeathFigures {
  readonly killed: number;
  readonly toEventMs: readonly number[];
  /** Until the runtime's record of the start of the replacement. */
  readonly toReplacementMs: readonly number[];
  /** Not told of. */
  readonly missed: number;
  /** Told of more than once. */
  readonly repeated: number;
}

/** A new pod each time: from just before its manifest is in the folder to the runtime's record of its start. */
export async function measurePodStarts(
  { node, agent, random, signal }: PhaseContext,
  count: number,
): Promise<number[]> {
  const startsMs: number[] = [];
  for (let at = 0; at < count; at++) {
    await sleep(1_000 + 1_000 * random(), undefined, { signal });
    const name = `single-${at}`;
    const writtenMs = await node.writeManifest(name);
    const running = await node.untilRunning(at + 1, signal, undefined, () => agent.check());
    const started = running.find((each) => podNameOf(each).startsWith(name))!;
    startsMs.push(toMs((await node.statusOf(started.id)).startedAt) - writtenMs);
  }
  return startsMs;
}

/** Kills the process of one container after the other, each for the first time: no back-off holds any of them. */
export async function measureDeaths(context: PhaseContext, waitMs: number): Promise<DeathFigures> {
  const { node, random, signal } = context;
  const figures: DeathFigures[] = [];
  for (const target of await node.targets()) {
    await sleep(1_500 + 1_000 * random(), undefined, { signal });
    process.kill(target.pid, 'SIGKILL');
    figures.push(await followDeaths(context, [target], waitMs));
  }
  return {
    killed: figures.length,
    toEventMs: figures.flatMap(({ toEventMs }) => toEventMs),
    toReplacementMs: figures.flatMap(({ toReplacementMs }) => toReplacementMs),
    missed: figures.reduce((sum, { missed }) => sum + missed, 0),
    repeated: figures.reduce((sum, { repeated }) => sum + repeated, 0),
  };
}

/** Until all pods that are put down at once run, by the runtime's record, and the agent's own CPU. */
export async function measureMassStart(
  { node, agent, signal }: PhaseContext,
  count: number,
): Promise<{ readonly allRunningMs: number; readonly cpuMs: number }> {
  const before = readProcessUsage(agent.pid);
  const there = await node.running();
  const began = Date.now();
  for (let at = 0; at < count; at++) await node.writeManifest(`mass-${at}`);
  const running = await node.untilRunning(there.length + count, signal, undefined, () => agent.check());
  const { cpuMs } = usageBetween(before, readProcessUsage(agent.pid));
  let lastMs = 0;
  for (const { id } of running) lastMs = Math.max(lastMs, toMs((await node.statusOf(id)).startedAt));
  return { allRunningMs: lastMs - began, cpuMs };
}

/** What the agent uses while nothing happens: CPU in percent of one core, and memory at the end. */
export async function measureIdle(
  { agent, signal }: PhaseContext,
  { settleMs, forMs }: { readonly settleMs: number; readonly forMs: number },
): Promise<{ readonly cpuPercent: number; readonly rssMiB: number }> {
  await sleep(settleMs, undefined, { signal });
  const before = readProcessUsage(agent.pid);
  const beganMs = performance.now();
  await sleep(forMs, undefined, { signal });
  const { cpuMs, rssMiB } = usageBetween(before, readProcessUsage(agent.pid));
  return { cpuPercent: (100 * cpuMs) / (performance.now() - beganMs), rssMiB };
}

/** Kills every container that runs, at once. */
export async function measureMassKill(context: PhaseContext, waitMs: number): Promise<DeathFigures> {
  const targets = await context.node.targets();
  for (const { pid } of targets) process.kill(pid, 'SIGKILL');
  return await followDeaths(context, targets, waitMs);
}

/** Whether an agent that comes to a full node is of use: healthy in so long, and what is killed then is replaced. */
export async function measureAfterRestart(
  context: PhaseContext,
  { kills, waitMs }: { readonly kills: number; readonly waitMs: number },
): Promise<{
  readonly healthyMs: number | undefined;
  readonly isHealthyAtEnd: boolean;
  readonly deaths: DeathFigures;
}> {
  const { node, agent, signal } = context;
  const beganMs = performance.now();
  let healthyMs: number | undefined;
  while (healthyMs === undefined && performance.now() - beganMs < waitMs) {
    agent.check();
    if (await isHealthy(agent.health, signal)) healthyMs = performance.now() - beganMs;
    else await sleep(50, undefined, { signal });
  }
  // Not while it takes up what was there.
  await sleep(10_000, undefined, { signal });
  const targets = (await node.targets())
    .filter(({ podName }) => podName.startsWith('fresh-'))
    .slice(0, kills);
  for (const { pid } of targets) process.kill(pid, 'SIGKILL');
  const deaths = await followDeaths(context, targets, waitMs);
  return { healthyMs, isHealthyAtEnd: await isHealthy(agent.health, signal), deaths };
}

/**
 * Waits until each of these ends was told of and each container replaced, but no longer than told; the runtime's records
 * say when each happened.
 */
async function followDeaths(
  { node, agent, signal }: PhaseContext,
  targets: readonly Target[],
  waitMs: number,
): Promise<DeathFigures> {
  const deadlineMs = performance.now() + waitMs;
  const gone = new Set(targets.map(({ containerId }) => containerId));
  const pods = new Set(targets.map(({ podName }) => podName));
  // A container may be collected before the end: its record is read as soon as it is there.
  const finishedMs = new Map<string, number>();
  let replaced = new Map<string, string>();
  for (;;) {
    agent.check();
    for (const id of gone) {
      if (finishedMs.has(id)) continue;
      const finishedAt = await node.statusOf(id).then(
        (status) => status.finishedAt,
        () => 0n,
      );
      if (finishedAt > 0n) finishedMs.set(id, toMs(finishedAt));
    }
    const running = await node.running();
    replaced = new Map(
      running.filter(({ id }) => !gone.has(id)).map((each): [string, string] => [podNameOf(each), each.id]),
    );
    const isSeen = targets.every(({ containerId }) => agent.events.findDeath(containerId) !== undefined);
    if (isSeen && [...pods].every((pod) => replaced.has(pod))) break;
    if (performance.now() > deadlineMs) break;
    await sleep(50, undefined, { signal });
  }
  const [toEventMs, toReplacementMs]: [number[], number[]] = [[], []];
  let [missed, repeated] = [0, 0];
  for (const { containerId, podName } of targets) {
    const endedMs = finishedMs.get(containerId);
    if (endedMs === undefined) throw new Error(`the runtime never said when ${containerId} ended`);
    const told = agent.events.findDeath(containerId);
    if (told === undefined) missed++;
    else toEventMs.push(told.atMs - endedMs);
    if ((told?.times ?? 0) > 1) repeated++;
    const replacement = replaced.get(podName);
    if (replacement !== undefined)
      toReplacementMs.push(toMs((await node.statusOf(replacement)).startedAt) - endedMs);
  }
  return { killed: targets.length, toEventMs, toReplacementMs, missed, repeated };
}
