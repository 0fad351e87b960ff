import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PlegMode } from '#watch';
import { readTrace, traceFlags } from '../agents/trace-calls.js';
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { AgentProcess } from '../kubelet/agent-process.js';
import { preparePodloop } from '../kubelet/contenders.js';
import { type BenchNode, podNameOf, type Target, toMs } from '../kubelet/bench-node.js';
import { CLOCK_STEP_MS, measureWallOffsetMs } from '../wall-clock.js';
import { withDeadline } from '../with-deadline.js';
import { BareObserver } from './bare-observer.js';
import { type NativeEvents } from './native-events.js';
import { type LatencyParts, LatencyPartition } from './part-latency.js';

/** One agent's turn: its pods are put down, each is killed once, and all are taken away again. */
export interface TurnOptions {
  readonly node: BenchNode;
  readonly native: NativeEvents;
  readonly mode: PlegMode;
  /** Of the manifests; no two turns on one node have the same. */
  readonly name: string;
  readonly deaths: number;
  /** From one kill to the next, on average. */
  readonly everyMs: number;
  /** Whether a bare observer watches the same deaths: only beside an agent that does not read the event stream. */
  readonly withBare: boolean;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** What was seen of one death; milliseconds from the runtime's FinishedAt, absent where it never came. */
export interface DeathSample {
  readonly told?: LatencyParts | undefined;
  readonly replaced?: LatencyParts | undefined;
  /** The agent told of it so often. */
  readonly times: number;
  /** The bare observer's event, and its status. */
  readonly bareEventMs?: number | undefined;
  readonly bareMs?: number | undefined;
  readonly nativeMs?: number | undefined;
}

/** Until what the new pods, or the ends, have set off has been dealt with: several periods of the generic mode. */
const SETTLE_MS = 3_000;
const POLL_MS = 250;
const WAIT_MS = 60_000;

/** Runs it. Deaths come in the order in which they were made. */
export async function measureTurn(options: TurnOptions): Promise<DeathSample[]> {
  const { node, mode, name, withBare, signal } = options;
  const traceFile = path.join(node.folder, `${name}.trace.json`);
  const agent = await startAgent(node, mode, traceFile);
  let seen: Awaited<ReturnType<typeof killAll>>;
  let times: readonly number[];
  try {
    await waitUntilHealthy(agent.health, signal);
    const bare = withBare ? await BareObserver.start(node.containerd.endpoint, signal) : undefined;
    try {
      seen = await killAll(options, agent, bare);
    } finally {
      await bare?.[Symbol.asyncDispose]();
    }
    // A later look may tell of an end again, and so may the removal of what has ended.
    await sleep(SETTLE_MS, undefined, { signal });
    await removePods(options);
    times = seen.map(({ death }) => agent.events.findDeath(death.containerId)?.times ?? 0);
  } finally {
    await agent[Symbol.asyncDispose]();
  }
  const parts = new LatencyPartition(await readTrace(traceFile));
  await rm(traceFile);
  return seen.map(({ death, ...rest }, at) => ({
    ...{ told: parts.untilTold(death), replaced: parts.untilReplaced(death), times: times[at]! },
    ...rest,
  }));
}

async function startAgent(node: BenchNode, mode: PlegMode, traceFile: string): Promise<AgentProcess> {
  const { folder, containerd } = node;
  const command = await preparePodloop({ endpoint: containerd.endpoint, folder });
  return await AgentProcess.start({
    ...command,
    args: [...traceFlags(traceFile), ...command.args, '--mode', mode],
  });
}

async function killAll(
  { node, native, name, deaths, everyMs, random, signal }: TurnOptions,
  agent: AgentProcess,
  bare: BareObserver | undefined,
) {
  for (let at = 0; at < deaths; at++) await node.writeManifest(podName(name, at));
  const check = (): void => agent.check();
  await withDeadline('until all pods run', WAIT_MS * 5, signal, async (within) => {
    while ((await node.running()).length < deaths) {
      check();
      await sleep(POLL_MS, undefined, { signal: within });
    }
  });
  await sleep(SETTLE_MS, undefined, { signal });
  const targets = await node.targets();
  const wallOffsetMs = measureWallOffsetMs();
  for (const { pid } of targets) {
    await sleep(everyMs * (0.5 + random()), undefined, { signal });
    process.kill(pid, 'SIGKILL');
  }
  const replacements = await waitForReplacements(node, targets, check, signal);
  const sightings = await bare?.sightings();
  const seen = [];
  for (const { containerId, podName: pod } of targets) {
    const { finishedAt, labels } = await node.statusOf(containerId);
    if (finishedAt === 0n) throw new Error(`the runtime never said when ${containerId} ended`);
    const finishedMs = toMs(finishedAt);
    const told = agent.events.findDeath(containerId);
    const replacement = replacements.get(pod);
    const nativeAtMs = native.findExit(containerId);
    const bareSeen = sightings?.get(containerId);
    const sinceEnd = (atMs: number | undefined) => (atMs === undefined ? undefined : atMs - finishedMs);
    seen.push({
      death: {
        ...{ containerId, podUid: labels['io.kubernetes.pod.uid'] ?? '', finishedMs },
        toldMs: told === undefined ? undefined : told.atMs + CLOCK_STEP_MS,
        replacedMs:
          replacement === undefined ? undefined : toMs((await node.statusOf(replacement)).startedAt),
      },
      ...{ bareEventMs: sinceEnd(bareSeen?.eventMs), bareMs: sinceEnd(bareSeen?.knownMs) },
      nativeMs: sinceEnd(nativeAtMs === undefined ? undefined : nativeAtMs + wallOffsetMs),
    });
  }
  return seen;
}

/** The containers that run in place of the killed ones, by pod. Nothing is asked of the runtime for the first while. */
async function waitForReplacements(
  node: BenchNode,
  targets: readonly Target[],
  check: () => void,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const killed = new Set(targets.map(({ containerId }) => containerId));
  const deadlineMs = performance.now() + WAIT_MS;
  for (;;) {
    await sleep(POLL_MS * 4, undefined, { signal });
    check();
    const running = (await node.running()).filter(({ id }) => !killed.has(id));
    const found = new Map(running.map((each): [string, string] => [podNameOf(each), each.id]));
    if (targets.every(({ podName: pod }) => found.has(pod)) || performance.now() > deadlineMs) return found;
  }
}

async function removePods({ node, name, deaths, signal }: TurnOptions): Promise<void> {
  for (let at = 0; at < deaths; at++)
    await rm(path.join(node.folder, 'manifests', `${podName(name, at)}.json`));
  await withDeadline('until all pods are gone', WAIT_MS * 5, signal, async (within) => {
    while ((await node.containers()).length > 0) await sleep(POLL_MS, undefined, { signal: within });
  });
}

function podName(name: string, at: number): string {
  return `${name}-${at}`;
}
