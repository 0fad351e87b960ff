/**
 * What a cluster adds to an agent on whose node nothing happens.
 *
 * In: two runtimes in memory with as many pods each, an agent on its own on the one, and on the other one that is a node
 * of a real control plane, which shows each of its pods. Both are in mode auto and are measured over the same minutes. Out:
 * CPU, wake-ups, memory and pauses of the garbage collector of each; the control plane's own processes are not part of it.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { findClusterBinaries } from '../../test/cluster/harness/cluster-binaries.js';
import { ControlPlane } from '../../test/cluster/harness/control-plane.js';
import { isReady } from '../../test/cluster/harness/is-ready.js';
import { findOwnIp } from '../../test/cluster/harness/own-ip.js';
import { GcPauses } from '../agents/gc-pauses.js';
import { MEMORY_NODE_NAME, MemoryNode } from '../agents/memory-node.js';
import {
  countWindows,
  type ProcessFigures,
  settle,
  warmUp,
  watchIdle,
  type WatchedProcess,
  WINDOW_S,
} from '../idle/watch-idle.js';
import { type Progress } from '../progress.js';
import { bootstrapRatioOfWindows, type Estimate, mean } from '../stats.js';
import { withDeadline } from '../with-deadline.js';

export interface JoinedBenchmarkOptions {
  readonly sizes: readonly number[];
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found at one size. */
export interface JoinedFigures {
  readonly pods: number;
  readonly seconds: number;
  readonly alone: ProcessFigures;
  readonly joined: ProcessFigures;
  /** CPU of the one that has joined to that of the other, by window. */
  readonly cpuRatio: Estimate;
}

/** Each pod takes a few requests, of which an agent sends 50 a second. */
const SHOWN_MS = 300_000;
const POLL_MS = 1_000;

/** Runs the benchmark at every size. */
export async function runJoinedBenchmark(options: JoinedBenchmarkOptions): Promise<JoinedFigures[]> {
  const binaries = findClusterBinaries();
  if ('missing' in binaries) throw new Error(binaries.missing);
  const figures: JoinedFigures[] = [];
  for (const pods of options.sizes) {
    options.progress.begin(`joined: ${pods} pods`);
    await using plane = await ControlPlane.start(binaries);
    figures.push(await measureSize(pods, plane, options));
  }
  return figures;
}

async function measureSize(
  pods: number,
  plane: ControlPlane,
  { seconds, progress, signal }: JoinedBenchmarkOptions,
): Promise<JoinedFigures> {
  await using nodeAlone = await MemoryNode.start();
  await using nodeJoined = await MemoryNode.start();
  const aloneProcess = await startWatched(nodeAlone, pods, [], signal);
  const joinedProcess = await startWatched(nodeJoined, pods, await optionsToJoin(plane), signal);
  await withDeadline(`until the cluster shows ${pods} pods`, SHOWN_MS, signal, async (within) => {
    while ((await countReady(plane)) < pods) await sleep(POLL_MS, undefined, { signal: within });
  });
  for (const node of [nodeAlone, nodeJoined]) await warmUp(node, pods, signal);
  await settle(seconds, signal);
  const [alone, joined] = await watchIdle([aloneProcess, joinedProcess], { seconds, progress, signal });
  const notReady = pods - (await countReady(plane));
  if (notReady > 0) throw new Error(`${notReady} of ${pods} pods were not Ready for the cluster in the end`);
  return {
    ...{ pods, seconds: countWindows(seconds) * WINDOW_S, alone: alone!, joined: joined! },
    cpuRatio: bootstrapRatioOfWindows(joined!.windowCpuMs, alone!.windowCpuMs, mean),
  };
}

async function startWatched(
  node: MemoryNode,
  pods: number,
  options: readonly string[],
  signal: AbortSignal,
): Promise<WatchedProcess> {
  await node.writeManifests(pods);
  const pauses = new GcPauses();
  const process = await node.startAgent(options, pauses.processOptions);
  await node.untilRunning(pods, signal);
  return { process, pauses };
}

async function optionsToJoin(plane: ControlPlane): Promise<string[]> {
  return [
    ...['--kubeconfig', await plane.nodeKubeconfig(MEMORY_NODE_NAME), '--node-ip', findOwnIp()],
    // As nodes have it.
    ...['--port', String(await findFreePort())],
  ];
}

async function countReady(plane: ControlPlane): Promise<number> {
  const path = '/api/v1/namespaces/default/pods';
  const { items } = await plane.admin.request<{ items: Pod[] }>({ method: 'GET', path });
  return items.filter((pod) => isReady(pod)).length;
}
