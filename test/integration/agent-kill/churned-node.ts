import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CriClient } from '../../../src/watch/cri/index.js';
import { SeededRandom } from '../../containerd/churn/random.js';
import { HostTraces } from '../kill-churn/host-traces.js';
import { PodloopProcess } from '../podloop-process.js';
import { writeProgramImage } from '../program-image.js';
import { expectSoonNone, pause } from './expect-soon-none.js';
import { PodChurn } from './pod-churn.js';
import { WellWatch } from './well-watch.js';

const NODE_NAME = 'test';
/** As far as the machine allows. */
const IS_APART = process.getuid?.() === 0;

/** What a {@link ChurnedNode} is made with. */
export interface ChurnedNodeOptions {
  readonly pods: number;
  readonly seed: number;
}

/** A folder of manifests that change all the time, `podloop run` on it, and somebody who watches. */
export class ChurnedNode implements AsyncDisposable {
  readonly folder: string;
  readonly random: SeededRandom;
  readonly churn: PodChurn;
  readonly watch: WellWatch;
  readonly traces: HostTraces;
  readonly #client: CriClient;
  readonly #changing = new AbortController();
  readonly #watching = new AbortController();
  #working: Promise<unknown> = Promise.resolve();
  #agents: PodloopProcess[] = [];

  static async start({ pods, seed }: ChurnedNodeOptions): Promise<ChurnedNode> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-agent-kill-'));
    for (const name of ['manifests', 'marks', 'images', 'logs']) await mkdir(join(folder, name));
    if (IS_APART) await writeProgramImage(join(folder, 'images'));
    const node = new ChurnedNode(folder, pods, new SeededRandom(seed));
    await node.churn.begin();
    node.#working = Promise.all([
      node.churn.run(node.#changing.signal),
      node.watch.run(node.#watching.signal),
    ]);
    return node;
  }

  private constructor(folder: string, size: number, random: SeededRandom) {
    this.folder = folder;
    this.random = random;
    const marks = join(folder, 'marks');
    const place = { marks, isApart: IS_APART };
    this.churn = new PodChurn({ folder: join(folder, 'manifests'), place, random: random.fork(), size });
    this.#client = new CriClient({ endpoint: `unix://${this.#runtimeFolder}/cri.sock` });
    this.watch = new WellWatch({ client: this.#client, churn: this.churn, marks, nodeName: NODE_NAME });
    this.traces = new HostTraces({ folder, root: join(this.#runtimeFolder, 'root') });
  }

  /** A new agent, which may still be about to start. */
  startAgent(): PodloopProcess {
    const places = ['--root-dir', join(this.folder, 'node'), '--pod-logs-dir', join(this.folder, 'logs')];
    const kinds = [
      '--isolation',
      IS_APART ? 'namespaces' : 'none',
      '--image-dir',
      join(this.folder, 'images'),
    ];
    const words = ['--runtime-endpoint', 'embedded', '--node-name', NODE_NAME, ...places, ...kinds];
    const agent = new PodloopProcess(['run', join(this.folder, 'manifests'), ...words]);
    this.#agents.push(agent);
    return agent;
  }

  /** Resolves once an agent works, or at some time before that. */
  async untilSomeTime(agent: PodloopProcess): Promise<void> {
    const isEarly = this.random.chance(0.3);
    if (!isEarly) await agent.line('stderr', /Started node agent/);
    await pause(this.random.between(50, isEarly ? 1_500 : 3_000));
  }

  /** The pid of the runtime; undefined while there is none. */
  async findRuntime(): Promise<number | undefined> {
    for (const name of await readdir('/proc')) {
      const words = /^\d+$/.test(name) ? await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '') : '';
      if (words.includes('\0runtime\0') && words.includes(`${this.#runtimeFolder}/cri.sock`))
        return Number(name);
    }
    return undefined;
  }

  /** Nothing changes any more: every pod comes to be as its manifest says. */
  async expectAllWell(): Promise<void> {
    this.#changing.abort();
    await expectSoonNone(() => this.watch.findMissing().catch(() => ['the runtime']));
    await this.traces.note();
    expect(this.traces.processCount > 0).toBe(IS_APART);
    expect(this.watch.size, 'next to nothing was seen').toBeGreaterThan(this.churn.pods.size);
    expect(await this.watch.findContradictions()).toEqual([]);
  }

  /** The manifests go, and with them everything that there was of pods, agent and runtime. */
  async expectNothingLeft(agent: PodloopProcess): Promise<void> {
    await this.churn.clear();
    const foldersOf = async (...path: string[]): Promise<string[]> =>
      readdir(join(this.folder, ...path)).catch(() => []);
    await expectSoonNone(async () => [
      ...(await foldersOf('node', 'pods')),
      ...(await foldersOf('logs')),
      ...(await foldersOf('node', 'runtime', 'root', 'sandboxes')),
    ]);
    this.#watching.abort();
    await this.#working;
    expect(await this.watch.findContradictions()).toEqual([]);
    expect((await agent.end('SIGTERM')).code).toBe(0);
    await expectSoonNone(() => this.traces.findLeft());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#changing.abort();
    this.#watching.abort();
    await this.#working.catch(() => undefined);
    await this.#endPods();
    for (const agent of this.#agents) await agent[Symbol.asyncDispose]();
    const pid = await this.findRuntime();
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    this.#client.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** After a test that failed half way: an agent of its own is not there to start them again. */
  async #endPods(): Promise<void> {
    for (const { child } of this.#agents) child.kill('SIGKILL');
    const { items } = await this.#client.listPodSandbox({}).catch(() => ({ items: [] }));
    const removals = items.map(({ id: podSandboxId }) => this.#client.removePodSandbox({ podSandboxId }));
    await Promise.allSettled(removals);
  }

  get #runtimeFolder(): string {
    return join(this.folder, 'node', 'runtime');
  }
}
