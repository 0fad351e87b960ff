import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceError, status } from '@grpc/grpc-js';
import { ContainerState, type ContainerStatus } from '#watch/messages';
import { signalProcess } from '../../test/containerd/harness/processes.js';
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
  /**
   * From the last list of the runtime's that did not show the end yet: no event was later than so long after the runtime's
   * record of it.
   */
  readonly recordToEventMs: readonly number[];
  /** Until the first list that showed it; lists show an end later than the time that it bears. */
  readonly toShownMs: readonly number[];
  /** Until the runtime's record of the start of the replacement. */
  readonly toReplacementMs: readonly number[];
  /** Not told of. */
  readonly missed: number;
  /** Told of more than once. */
  readonly repeated: number;
  readonly notReplaced: number;
  /** Collected before anybody read when they ended: there are no times of theirs but those since the record. */
  readonly unknownEnds: number;
}

/** What {@link followDeaths} found: a repeat may come with any later relist, so these are yet to be counted. */
export interface FollowedDeaths extends Omit<DeathFigures, 'repeated'> {
  readonly containerIds: readonly string[];
}

/** How {@link followDeaths} waits. */
export interface FollowOptions {
  /** No longer than this, whatever was not seen. */
  readonly waitMs: number;
  /** Between looks at the runtime, which cost it something. */
  readonly pollMs: number;
}

/** What {@link followDeaths} looks at. */
export interface FollowContext {
  readonly node: Pick<BenchNode, 'containers' | 'statusOf'>;
  readonly agent: Pick<AgentProcess, 'check' | 'logStepMs'> & {
    readonly events: Pick<AgentProcess['events'], 'findDeath'>;
  };
  readonly signal: AbortSignal;
}

/** Kills these containers with `kill`, and waits until each end was told of and each container replaced. */
export async function followDeaths(
  { node, agent, signal }: FollowContext,
  targets: readonly Target[],
  { waitMs, pollMs }: FollowOptions,
  kill: (target: Target) => Promise<void> = (target) => signalProcess(target, 'SIGKILL'),
): Promise<FollowedDeaths> {
  const deadlineMs = performance.now() + waitMs;
  const gone = new Set(targets.map(({ containerId }) => containerId));
  /** Of each end: when a list was asked for last that did not show it, and when one had come that did. */
  const seen = new Map<string, { readonly notShownMs: number; readonly shownMs: number }>();
  const finishedMs = new Map<string, number>();
  let replaced = new Map<string, string>();
  let notShownMs = Date.now();
  // Beside the looks, which are to stay dense, and one after the other, which costs the runtime less.
  let reading = Promise.resolve();
  await Promise.all(targets.map(kill));
  for (;;) {
    agent.check();
    const askedMs = Date.now();
    const containers = await node.containers();
    const shownMs = Date.now();
    const alive = new Set(
      containers.filter(({ state }) => state !== ContainerState.CONTAINER_EXITED).map(({ id }) => id),
    );
    // One that is in no list any more has ended, too.
    const ended = [...gone].filter((id) => !alive.has(id) && !seen.has(id));
    for (const id of ended) seen.set(id, { notShownMs, shownMs });
    notShownMs = askedMs;
    if (ended.length > 0)
      reading = reading.then(async () => {
        // At once: agents remove what has ended, some time.
        for (const id of ended) {
          const record = await findStatus(node, id);
          if (record !== undefined) finishedMs.set(id, toMs(record.finishedAt));
        }
      });
    // Awaited below: until then nobody has to hear of it.
    reading.catch(() => undefined);
    const news = containers.filter((each) => isRunningMain(each) && !gone.has(each.id));
    replaced = new Map(news.map((each) => [podNameOf(each), each.id]));
    const isDone = targets.every(
      ({ containerId, podName }) =>
        agent.events.findDeath(containerId) !== undefined && seen.has(containerId) && replaced.has(podName),
    );
    if (isDone || performance.now() > deadlineMs) break;
    await sleep(pollMs, undefined, { signal });
  }
  await reading;
  const found = {
    containerIds: targets.map(({ containerId }) => containerId),
    ...{ killed: targets.length, missed: 0, notReplaced: 0, unknownEnds: 0 },
    toEventMs: [] as number[],
    recordToEventMs: [] as number[],
    toShownMs: [] as number[],
    toReplacementMs: [] as number[],
  };
  for (const { containerId, podName } of targets) {
    const endedMs = finishedMs.get(containerId);
    if (endedMs === undefined) found.unknownEnds++;
    const look = seen.get(containerId);
    if (endedMs !== undefined && look !== undefined) found.toShownMs.push(look.shownMs - endedMs);
    const told = agent.events.findDeath(containerId);
    if (told === undefined) found.missed++;
    else {
      const toldMs = told.atMs + agent.logStepMs;
      if (endedMs !== undefined) found.toEventMs.push(toldMs - endedMs);
      found.recordToEventMs.push(toldMs - (look?.notShownMs ?? notShownMs));
    }
    const replacement = await findStatus(node, replaced.get(podName));
    if (replacement === undefined) found.notReplaced++;
    else if (endedMs !== undefined) found.toReplacementMs.push(toMs(replacement.startedAt) - endedMs);
  }
  return found;
}

/** Undefined when it is gone. */
async function findStatus(
  node: FollowContext['node'],
  containerId: string | undefined,
): Promise<ContainerStatus | undefined> {
  if (containerId === undefined) return undefined;
  return await node.statusOf(containerId).catch((error: unknown) => {
    if ((error as ServiceError).code === status.NOT_FOUND) return undefined;
    throw error;
  });
}

/** With the ends that were told of more than once until now. */
export function countRepeated(
  { containerIds, ...figures }: FollowedDeaths,
  events: FollowContext['agent']['events'],
): DeathFigures {
  const repeated = containerIds.filter((id) => (events.findDeath(id)?.times ?? 0) > 1).length;
  return { ...figures, repeated };
}

/** Of several that were followed one after the other. */
export function addUp(figures: readonly FollowedDeaths[]): FollowedDeaths {
  const sum = (value: (each: FollowedDeaths) => number): number =>
    figures.reduce((total, each) => total + value(each), 0);
  return {
    containerIds: figures.flatMap(({ containerIds }) => containerIds),
    killed: sum(({ killed }) => killed),
    toEventMs: figures.flatMap(({ toEventMs }) => toEventMs),
    recordToEventMs: figures.flatMap(({ recordToEventMs }) => recordToEventMs),
    toShownMs: figures.flatMap(({ toShownMs }) => toShownMs),
    toReplacementMs: figures.flatMap(({ toReplacementMs }) => toReplacementMs),
    missed: sum(({ missed }) => missed),
    notReplaced: sum(({ notReplaced }) => notReplaced),
    unknownEnds: sum(({ unknownEnds }) => unknownEnds),
  };
}
