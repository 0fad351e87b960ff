import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../test/build-state.js';
import { signalProcess } from '../../test/containerd/harness/processes.js';
import { endProcess } from '../agents/end-process.js';
import { isHealthy, waitUntilHealthy } from '../agents/is-healthy.js';
import { readPage } from '../agents/read-page.js';
import { AgentProcess } from './agent-process.js';
import { BenchNode, toMs } from './bench-node.js';
import { type Contender } from './contenders.js';

/** How the deaths of everybody else were told of while status calls about some pods hang. */
export interface HungPodFigures {
  readonly hungPods: number;
  readonly deaths: number;
  /** From the runtime's record to the event, milliseconds, of those that were told of. */
  readonly toEventMs: readonly number[];
  readonly missed: number;
  readonly isHealthyAtEnd: boolean;
  /** How many of the hung pods its page about its generator names at the end; undefined: it has none. */
  readonly named: number | undefined;
}

export interface HungPodOptions {
  readonly pods: number;
  readonly hungPods: number;
  readonly deaths: number;
  readonly everyMs: number;
  /** After the last death. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

const START_WAIT_MS = 60_000;
/** Of podloop's; a kubelet has none like it. */
const GENERATOR_PAGE = '/debug/pleg';

/** Puts `podloop chaos` in front of an agent, lets calls about some pods hang, and kills containers of the others. */
export async function measureHungPods(
  contender: Contender,
  { pods, hungPods, deaths, everyMs, waitMs, signal }: HungPodOptions,
): Promise<HungPodFigures> {
  await using node = await BenchNode.start('1.7');
  await using chaos = await Chaos.start(node);
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
  await chaos.hang(hung.map(({ podName }) => `default/${podName}`));
  // A hang shows only where somebody asks: their ends make it so.
  for (const target of hung) await signalProcess(target, 'SIGKILL');
  const killed = targets.slice(hungPods, hungPods + deaths);
  const endedMs = new Map<string, number>();
  for (const target of killed) {
    await sleep(everyMs, undefined, { signal });
    await signalProcess(target, 'SIGKILL');
    await sleep(500, undefined, { signal });
    endedMs.set(target.containerId, toMs((await node.statusOf(target.containerId)).finishedAt));
  }
  const isTold = ({ containerId }: { readonly containerId: string }): boolean =>
    agent.events.findDeath(containerId) !== undefined;
  const deadlineMs = performance.now() + waitMs;
  while (!killed.every(isTold) && performance.now() < deadlineMs) {
    agent.check();
    await sleep(100, undefined, { signal });
  }
  const told = killed.filter(isTold);
  const page = await readPage(agent.health, GENERATOR_PAGE, signal);
  return {
    ...{ hungPods, deaths: killed.length, missed: killed.length - told.length },
    toEventMs: told.map(
      ({ containerId }) => agent.events.findDeath(containerId)!.atMs - endedMs.get(containerId)!,
    ),
    isHealthyAtEnd: await isHealthy(agent.health, signal),
    named: page === undefined ? undefined : hung.filter(({ podName }) => page.includes(podName)).length,
  };
}

const END_MS = 10_000;

/** `podloop chaos` in front of a containerd. */
class Chaos implements AsyncDisposable {
  readonly endpoint: string;
  readonly #rules: string;
  readonly #child: ChildProcess;

  static async start(node: BenchNode): Promise<Chaos> {
    const socket = path.join(node.folder, 'chaos.sock');
    const rules = path.join(node.folder, 'rules.json');
    await writeFile(rules, JSON.stringify({ rules: [] }));
    const args = [
      ...[findProgram(process.cwd()), 'chaos', '--upstream', node.containerd.endpoint],
      ...['--listen', `unix://${socket}`, '--rules', rules],
    ];
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    await once(child, 'spawn');
    while (
      !(await access(socket).then(
        () => true,
        () => false,
      ))
    ) {
      if (child.exitCode !== null) throw new Error(`podloop chaos ended with ${child.exitCode}`);
      await sleep(20);
    }
    return new Chaos(`unix://${socket}`, rules, child);
  }

  private constructor(endpoint: string, rules: string, child: ChildProcess) {
    this.endpoint = endpoint;
    this.#rules = rules;
    this.#child = child;
  }

  /** Status calls about these pods, as namespace/name, are answered no more. */
  async hang(pods: readonly string[]): Promise<void> {
    const match = { methods: ['ContainerStatus', 'PodSandboxStatus'], pods };
    await writeFile(
      this.#rules,
      JSON.stringify({ rules: [{ name: 'hung', match, fault: { type: 'hang' } }] }),
    );
    // Until the file has been read again.
    await sleep(2_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child, END_MS);
  }
}
