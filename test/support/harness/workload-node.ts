import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readWorkload } from '#kube/workloads/read-workload.js';
import { type Workload } from '#kube/workloads/workload.js';
import { FakeClock } from '#testing/fake-clock.js';
import {
  type PodProgress,
  WorkloadControllers,
  type WorkloadEvent,
} from '../../../src/node/workloads/index.js';

/** A pod on the node of a test: what a real one would have seen of it. */
export interface NodePodState {
  readonly pod: NodePod;
  readySinceMs: number | undefined;
  end: 'Succeeded' | 'Failed' | undefined;
  exitCode: number;
  restarts: number;
  isStopped: boolean;
  isGone: boolean;
}

const SOURCE = 'file';
/** Each step is synced to the disk, which takes its time on a real one. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Workloads, and a node that does what a test says with their pods; its controllers can be killed at any time. */
export class WorkloadNode implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly events: (WorkloadEvent & { readonly object: string })[] = [];
  readonly claims: string[] = [];
  /** Every pod that was ever wanted, by uid. */
  readonly all = new Map<string, NodePodState>();
  /** What is wanted now. */
  wanted: readonly NodePod[] = [];
  isComplete = false;
  readonly #root: string;
  #controllers!: WorkloadControllers;
  #workloads: readonly Workload[] = [];
  #seed = 1;

  private constructor(root: string) {
    this.#root = root;
  }

  static async open(): Promise<WorkloadNode> {
    const node = new WorkloadNode(await mkdtemp(join(FOLDER, 'podloop-workloads-')));
    await node.restart();
    return node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }

  /** Another agent goes on with what is on the disk. */
  async restart(): Promise<void> {
    this.#controllers = await WorkloadControllers.open({
      ...{ folder: this.#folder, nodeName: 'n1', clock: this.clock, logger: SILENT_LOGGER },
      progressOf: (pod) => this.#progressOf(pod),
      onEvent: ({ object }, event) => this.events.push({ ...event, object: object.metadata.name }),
      onClaim: ({ name }) => void this.claims.push(name),
      // Another one in each life of the agent, and the same in each run of a test.
      random: () => {
        this.#seed = (this.#seed * 16_807) % 2_147_483_647;
        return this.#seed / 2_147_483_647;
      },
      newUid: () => `uid-${this.#seed++}-${this.all.size}`,
    });
  }

  get trees() {
    return this.#controllers.list();
  }

  /** The manifests say this from now on. */
  async apply(...objects: readonly object[]): Promise<void> {
    this.#workloads = objects.map((value) => {
      const { kind } = value as { readonly kind: Workload['kind'] };
      const { object, problems } = readWorkload(value, kind, { toWritten: (pod) => pod });
      if (object === undefined) throw new Error(JSON.stringify(problems));
      return object;
    });
    this.deliver();
    await this.settle();
  }

  deliver(isComplete = true): void {
    this.#controllers.deliver(SOURCE, {
      ...{ pods: [], workloads: this.#workloads, isComplete },
      hand: (pods, isWhole) => this.#hand(pods, isWhole),
    });
  }

  /** Nothing can be written until {@link mendDisk}. */
  async breakDisk(): Promise<void> {
    await rename(this.#folder, `${this.#folder}-aside`).catch(() => undefined);
    await writeFile(this.#folder, '');
  }

  async mendDisk(): Promise<void> {
    await rm(this.#folder);
    await rename(`${this.#folder}-aside`, this.#folder).catch(() => undefined);
  }

  async damageRecords(): Promise<void> {
    for (const name of await readdir(this.#folder)) await writeFile(join(this.#folder, name), '{"root":');
  }

  get #folder(): string {
    return join(this.#root, 'workloads');
  }

  /** The source has read nothing so far, and goes on. */
  async applyPart(): Promise<void> {
    this.#workloads = [];
    this.deliver(false);
    await this.settle();
  }

  /** Everything that follows at once. */
  async settle(): Promise<void> {
    this.#controllers.podsChanged();
    await this.#controllers.settle();
  }

  /** Somebody changes a workload beside its manifest. */
  async change(...asked: Parameters<WorkloadControllers['change']>): Promise<boolean> {
    const done = this.#controllers.change(...asked);
    done.catch(() => undefined);
    await this.settle();
    return done;
  }

  /** The claims that manifests have, and workloads of them. */
  declared(): ReturnType<WorkloadControllers['claims']> {
    return this.#controllers.claims();
  }

  /** Time passes, and the controllers look. */
  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1_000);
    await this.settle();
  }

  /** Names of the pods that are wanted. */
  names(): string[] {
    return this.wanted.map(({ metadata }) => metadata.name).sort();
  }

  /** The state of a wanted pod, by its name. */
  state(name: string): NodePodState {
    const pod = this.wanted.find(({ metadata }) => metadata.name === name);
    if (pod === undefined) throw new Error(`no pod ${name} is wanted: ${this.names().join()}`);
    return this.all.get(pod.metadata.uid)!;
  }

  states(): NodePodState[] {
    return this.wanted.map(({ metadata }) => this.all.get(metadata.uid)!);
  }

  async ready(...names: string[]): Promise<void> {
    for (const name of names) this.state(name).readySinceMs = this.clock.now();
    await this.settle();
  }

  async end(name: string, how: 'Succeeded' | 'Failed', exitCode = how === 'Failed' ? 1 : 0): Promise<void> {
    Object.assign(this.state(name), { end: how, exitCode, readySinceMs: undefined });
    await this.settle();
  }

  /** All that is not wanted any more has ended. */
  async gone(): Promise<void> {
    const uids = new Set(this.wanted.map(({ metadata }) => metadata.uid));
    for (const [uid, state] of this.all) if (!uids.has(uid) || state.isStopped) state.isGone = true;
    await this.settle();
  }

  #hand(pods: readonly NodePod[], isComplete: boolean): void {
    this.wanted = pods;
    this.isComplete = isComplete;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      if (this.all.has(uid)) continue;
      const nothing = { readySinceMs: undefined, end: undefined, exitCode: 0, restarts: 0 };
      this.all.set(uid, { pod, ...nothing, isStopped: false, isGone: false });
    }
  }

  #progressOf({ metadata: { uid } }: NodePod): PodProgress {
    const state = this.all.get(uid);
    return {
      ...{ end: state?.end, isRunning: state !== undefined && state.end === undefined },
      ...{ readySinceMs: state?.readySinceMs, restarts: state?.restarts ?? 0 },
      ...{ isStopped: state?.isStopped ?? false, isGone: state?.isGone ?? false },
      exitCodes: state?.end === undefined ? {} : { a: state.exitCode },
      conditions: {},
    };
  }
}
