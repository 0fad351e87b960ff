import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { ContainerState, type PodSandboxConfig } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { runtimeService } from '../harness/cri-driver.js';
import { containerConfig, hostMount } from '../harness/pod-configs.js';
import { drawEnding, SETTLE_MS } from './churn-settings.js';
import { type ChurnWorld } from './churn-world.js';
import { containerScript, FOLDER_INSIDE } from './container-script.js';
import { KEY_LABEL } from './container-watch.js';
import { type SeededRandom } from './random.js';
import { wallMs, type ContainerStory, type RuntimeVerdict, type SandboxStory } from './story.js';

/** Longer than any container of ours takes to handle TERM, so that the runtime's KILL never comes first. */
const GRACE_SECONDS = 60n;
/** After its pod's stop was answered, how long a container may still be shown as anything but exited. */
const ODD_AFTER_MS = 10_000;

const STATES: Readonly<Record<number, RuntimeVerdict['state']>> = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
};

/** Which container, and where. */
export interface ChurnContainerOptions {
  readonly random: SeededRandom;
  readonly sandbox: SandboxStory;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly name: string;
  readonly attempt: number;
}

/** One container from its creation to its removal, with everything written to its story. */
export class ChurnContainer {
  readonly story: ContainerStory;
  readonly #world: ChurnWorld;
  readonly #options: ChurnContainerOptions;
  #isRemoving = false;

  constructor(world: ChurnWorld, options: ChurnContainerOptions) {
    const { sandbox, random, name, attempt } = options;
    this.#world = world;
    this.#options = options;
    this.story = {
      key: `${sandbox.podName}-${name}-${attempt}`,
      podName: sandbox.podName,
      podUid: sandbox.podUid,
      ending: drawEnding(random),
      removalClass: sandbox.removalClass,
      notes: [],
    };
    world.log.containers.push(this.story);
  }

  /** Whether a stop could still change how it ends. */
  get mayRun(): boolean {
    return this.story.startCalledMs !== undefined && this.story.seenDeadMs === undefined;
  }

  get isRemoving(): boolean {
    return this.#isRemoving;
  }

  /** Answers whether it was started; a call that was cut off is looked up before anything is built on it. */
  async createAndStart(signal: AbortSignal): Promise<boolean> {
    const { story } = this;
    await this.#create();
    if (story.id === undefined) return false;
    for (let tries = 0; tries < 10; tries++) {
      if (signal.aborted) return false;
      try {
        await this.#world.gate.run(async () => {
          story.startCalledMs ??= wallMs();
          await this.#world.driver.startContainer(story.id!);
        });
        story.startedMs = wallMs();
        return true;
      } catch (error) {
        story.notes.push(`StartContainer: ${String(error)}`);
      }
      const verdict = await this.#askRuntime();
      if (verdict?.state !== 'created') return verdict?.state === 'running' || verdict?.state === 'exited';
    }
    return false;
  }

  /** Makes it end as its story says, and resolves when it is dead or the pod ends. */
  async end(signal: AbortSignal): Promise<void> {
    const { ending } = this.story;
    if (ending.by !== 'exit') {
      await sleep(ending.afterMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await (ending.by === 'kill' ? this.#killFromHost() : this.stop());
    }
    while (!signal.aborted && !this.#lookDead()) await sleep(50);
  }

  /** StopContainer: with a grace period if it handles TERM, without one otherwise. */
  async stop(): Promise<void> {
    const { story } = this;
    if (story.id === undefined) return;
    if (story.ending.by === 'term') await this.#waitForStartFile();
    const timeout = story.ending.by === 'term' ? GRACE_SECONDS : 0n;
    await this.#world.settle(story.notes, 'StopContainer', () => {
      story.killedMs ??= wallMs();
      return this.#world.driver.call(
        runtimeService.stopContainer,
        { containerId: story.id!, timeout },
        { deadlineMs: 120_000 },
      );
    });
  }

  /** Removes it in its class' time, once it is dead. */
  async remove(): Promise<void> {
    const { story } = this;
    this.#isRemoving = true;
    if (story.id === undefined) return;
    const sinceMs = wallMs();
    const state = story.startedMs === undefined ? (await this.#askRuntime())?.state : undefined;
    // What containerd's death cut off in its creation: the kubelet too stops such a one before it removes it.
    if (state === 'unknown') await this.stop();
    // One that was never started never dies.
    const mayDie = state !== 'created';
    while (mayDie && !this.#lookDead() && wallMs() < sinceMs + ODD_AFTER_MS) await sleep(50);
    if (story.removalClass === 'settled') {
      // Dead since the runtime has shown it: after a restart that can be long after the end that it then tells.
      await this.#world.gate.waitUntilDeadFor(story.seenDeadMs ?? wallMs(), SETTLE_MS);
      // Once more: a restart of containerd may have changed what it knows.
      story.verdict = await this.#askRuntime();
    }
    await this.#world.remove(story.notes, 'RemoveContainer', () => {
      story.removalCalledMs ??= wallMs();
      return this.#world.driver.call(runtimeService.removeContainer, { containerId: story.id! });
    });
    story.removedMs ??= wallMs();
  }

  async #create(): Promise<void> {
    const { story } = this;
    const { sandboxId, sandboxConfig, name, attempt } = this.#options;
    const config = containerConfig(sandboxConfig, {
      name,
      attempt,
      script: containerScript(story.key, story.ending),
      mounts: [hostMount(this.#world.folder, FOLDER_INSIDE)],
      labels: { [KEY_LABEL]: story.key },
    });
    try {
      story.id = await this.#world.gate.run(() => {
        story.createCalledMs = wallMs();
        return this.#world.driver.createContainer(sandboxId, config, sandboxConfig);
      });
      story.createdMs = wallMs();
    } catch (error) {
      story.notes.push(`CreateContainer: ${String(error)}`);
      story.id = await this.#world.settle(story.notes, 'ListContainers', () =>
        this.#world.watch.findByKey(story.key),
      );
    }
  }

  #lookDead(): boolean {
    if (this.story.id === undefined) return false;
    this.story.seenDeadMs ??= this.#world.watch.deadSinceMs(this.story.id);
    return this.story.seenDeadMs !== undefined;
  }

  async #askRuntime(): Promise<RuntimeVerdict | undefined> {
    const { story } = this;
    const answer = await this.#world.settle(story.notes, 'ContainerStatus', () =>
      this.#world.driver.call(runtimeService.containerStatus, { containerId: story.id!, verbose: false }),
    );
    const status = answer?.status;
    if (status === undefined) return undefined;
    return {
      state: STATES[status.state] ?? 'unknown',
      exitCode: status.exitCode,
      reason: status.reason,
      finishedAtMs: Number(status.finishedAt) / 1e6,
    };
  }

  async #waitForStartFile(): Promise<void> {
    const file = path.join(this.#world.folder, `${this.story.key}.start`);
    for (let tries = 0; tries < 200 && !this.#lookDead(); tries++) {
      if ((await stat(file).catch(() => undefined)) !== undefined) return;
      await sleep(50);
    }
  }

  /** KILL, from outside of the runtime. */
  async #killFromHost(): Promise<void> {
    const { story } = this;
    const bundle = path.join(
      this.#world.containerd.names.state,
      'io.containerd.runtime.v2.task',
      'k8s.io',
      story.id!,
    );
    const pid = Number(await readFile(path.join(bundle, 'init.pid'), 'utf8').catch(() => 'NaN'));
    const cgroup = Number.isNaN(pid) ? '' : await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    // Its own cgroup says that the pid is still this container's.
    if (!cgroup.includes(story.id!)) {
      story.notes.push('kill: its first process was not found');
      return this.stop();
    }
    story.killedMs ??= wallMs();
    process.kill(pid, 'SIGKILL');
  }
}
