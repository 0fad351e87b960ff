import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceError, status } from '@grpc/grpc-js';
import { ContainerState, type ContainerStatus } from '../../src/cri/generated/runtime/v1/cri.js';
import { type AgentProcess } from './agent-process.js';
import { type BenchNode, isRunningMain, podNameOf, type Target, toMs } from './bench-node.js';

/** What a phase works with. */
export interface PhaseContext {
  readonly node: BenchNode;
  readonly agent: AgentProcess;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Ends of containers, and what was made of them; milliseconds from the end of the process as the runtime has it. */
export interface DeathFigures {
  readonly killed: number;
  readonly toEventMs: readonly number[];
  /** From the first list of the runtime's that shows the end; below 0 where the agent was told before anybody looked. */
  readonly recordToEventMs: readonly number[];
  /** Until the runtime's record of the start of the replacement. */
  readonly toReplacementMs: readonly number[];
  /** Not told of. */
  readonly missed: number;
  /** Told of more than once. */
  readonly repeated: number;
}

/** How {@link followDeaths} waits. */
export interface FollowOptions {
  /** No longer than this, whatever was not seen. */
  readonly waitMs: number;
  /** Between looks at the runtime, which cost it something. */
  readonly pollMs: number;
}

/** Waits until each of these ends was told of and each container replaced. */
export async function followDeaths(
  { node, agent, signal }: PhaseContext,
  targets: readonly Target[],
  { waitMs, pollMs }: FollowOptions,
): Promise<DeathFigures> {
  const deadlineMs = performance.now() + waitMs;
  const gone = new Set(targets.map(({ containerId }) => containerId));
  const shownMs = new Map<string, number>();
  const finishedMs = new Map<string, number>();
  let replaced = new Map<string, string>();
  for (;;) {
    agent.check();
    const containers = await node.containers();
    const nowMs = Date.now();
    const ended = containers.filter(
      ({ id, state }) => state === ContainerState.CONTAINER_EXITED && gone.has(id) && !shownMs.has(id),
    );
    for (const { id } of ended) shownMs.set(id, nowMs);
    // At once: agents remove what has ended, some time.
    for (const { id } of ended) {
      const record = await findStatus(node, id);
      if (record !== undefined) finishedMs.set(id, toMs(record.finishedAt));
    }
    const news = containers.filter((each) => isRunningMain(each) && !gone.has(each.id));
    replaced = new Map(news.map((each) => [podNameOf(each), each.id]));
    const isDone = targets.every(
      ({ containerId, podName }) =>
        agent.events.findDeath(containerId) !== undefined &&
        shownMs.has(containerId) &&
        replaced.has(podName),
    );
    if (isDone || performance.now() > deadlineMs) break;
    await sleep(pollMs, undefined, { signal });
  }
  const found = {
    ...{ killed: targets.length, missed: 0, repeated: 0 },
    toEventMs: [] as number[],
    recordToEventMs: [] as number[],
    toReplacementMs: [] as number[],
  };
  for (const { containerId, podName } of targets) {
    const endedMs = finishedMs.get(containerId);
    if (endedMs === undefined) throw new Error(`the runtime never said when ${containerId} ended`);
    const told = agent.events.findDeath(containerId);
    if (told === undefined) found.missed++;
    else {
      found.toEventMs.push(told.atMs - endedMs);
      found.recordToEventMs.push(told.atMs - shownMs.get(containerId)!);
    }
    if ((told?.times ?? 0) > 1) found.repeated++;
    const replacement = await findStatus(node, replaced.get(podName));
    if (replacement !== undefined) found.toReplacementMs.push(toMs(replacement.startedAt) - endedMs);
  }
  return found;
}

/** Undefined when it is gone. */
async function findStatus(
  node: BenchNode,
  containerId: string | undefined,
): Promise<ContainerStatus | undefined> {
  if (containerId === undefined) return undefined;
  return await node.statusOf(containerId).catch((error: unknown) => {
    if ((error as ServiceError).code === status.NOT_FOUND) return undefined;
    throw error;
  });
}

/** Of several that were followed one after the other. */
export function addUp(figures: readonly DeathFigures[]): DeathFigures {
  const sum = (value: (each: DeathFigures) => number): number =>
    figures.reduce((total, each) => total + value(each), 0);
  return {
    killed: sum(({ killed }) => killed),
    toEventMs: figures.flatMap(({ toEventMs }) => toEventMs),
    recordToEventMs: figures.flatMap(({ recordToEventMs }) => recordToEventMs),
    toReplacementMs: figures.flatMap(({ toReplacementMs }) => toReplacementMs),
    missed: sum(({ missed }) => missed),
    repeated: sum(({ repeated }) => repeated),
  };
}
