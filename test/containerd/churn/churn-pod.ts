import { setTimeout as sleep } from 'node:timers/promises';

import { type PodSandboxConfig } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { runtimeService } from '../harness/cri-driver.js';
import { sandboxConfig } from '../harness/pod-configs.js';
import { ChurnContainer } from './churn-container.js';
import { type ChurnWorld } from './churn-world.js';
import { SETTLE_MS } from './churn-settings.js';
import { type SeededRandom } from './random.js';
import { wallMs, type ContainerStory, type SandboxStory } from './story.js';

const CONTAINERS = ['a', 'b'] as const;

/** One pod from its sandbox to its removal: two containers, each replaced in the same sandbox when it dies. */
export class ChurnPod {
  readonly #world: ChurnWorld;
  readonly #random: SeededRandom;
  readonly #story: SandboxStory;
  readonly #config: PodSandboxConfig;
  readonly #containers: ChurnContainer[] = [];
  readonly #removals: Promise<void>[] = [];
  readonly #ending = new AbortController();

  constructor(world: ChurnWorld, random: SeededRandom, name: string, early: boolean) {
    this.#world = world;
    this.#random = random;
    this.#config = sandboxConfig({ name, cgroupParent: world.containerd.names.cgroupParent });
    const removalClass = early ? 'early' : 'settled';
    this.#story = { podName: name, podUid: this.#config.metadata?.uid ?? '', removalClass, notes: [] };
    world.log.sandboxes.push(this.#story);
  }

  /** Resolves when everything of the pod is removed. */
  async run(lifeMs: number, stopping: AbortSignal): Promise<void> {
    const id = await this.#runSandbox();
    if (id === undefined) return;
    const lives = CONTAINERS.map((name) => this.#keepRunning(id, name));
    await sleep(lifeMs, undefined, { signal: stopping }).catch(() => undefined);
    this.#ending.abort();
    await this.#end(id, Promise.all(lives));
  }

  /** Answers with the sandbox's id, or undefined when there is none (any more). */
  async #runSandbox(): Promise<string | undefined> {
    const { world, story } = { world: this.#world, story: this.#story };
    try {
      story.id = await world.gate.run(() => {
        story.runCalledMs = wallMs();
        return world.driver.runSandbox(this.#config);
      });
      story.runningMs = wallMs();
      return story.id;
    } catch (error) {
      story.notes.push(`RunPodSandbox: ${String(error)}`);
    }
    // containerd went away under the call. Whatever it made of it before is taken away again.
    const found = await world.settle(story.notes, 'ListPodSandbox', async () => {
      const { items } = await world.driver.call(runtimeService.listPodSandbox, { filter: undefined });
      return items.filter((item) => item.metadata?.uid === story.podUid).map((item) => item.id);
    });
    for (const id of found ?? []) {
      story.id = id;
      await this.#removeSandbox(id);
    }
    return undefined;
  }

  /** Runs one container after the other under the same name until the pod ends. */
  async #keepRunning(sandboxId: string, name: string): Promise<void> {
    for (let attempt = 0; !this.#isEnding(); attempt++) {
      const container = new ChurnContainer(this.#world, {
        random: this.#random,
        sandbox: this.#story,
        sandboxId,
        sandboxConfig: this.#config,
        name,
        attempt,
      });
      this.#containers.push(container);
      const started = await container.createAndStart(this.#ending.signal);
      if (started) await container.end(this.#ending.signal);
      if (this.#isEnding()) return;
      // Its successor does not wait for its removal: as with the kubelet, both are there for a while.
      this.#removals.push(container.remove());
      await sleep(this.#random.between(0, 1_500), undefined, { signal: this.#ending.signal }).catch(
        () => undefined,
      );
    }
  }

  #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #end(sandboxId: string, lives: Promise<unknown>): Promise<void> {
    const early = this.#story.removalClass === 'early';
    await lives;
    const running = this.#containers.filter((container) => container.mayRun);
    if (early && this.#random.chance(0.5)) {
      // Not even stopped: the runtime does all of it in one call.
      for (const container of running) container.story.killedMs ??= wallMs();
    } else {
      if (this.#random.chance(0.5)) await Promise.all(running.map((container) => container.stop()));
      for (const container of running) container.story.killedMs ??= wallMs();
      this.#story.stopCalledMs = wallMs();
      await this.#world.settle(this.#story.notes, 'StopPodSandbox', () =>
        this.#world.driver.call(runtimeService.stopPodSandbox, { podSandboxId: sandboxId }),
      );
    }
    const left = this.#containers.filter(
      ({ story }) => story.id !== undefined && story.removalCalledMs === undefined,
    );
    if (!early) {
      const stoppedMs = wallMs();
      await Promise.all([
        ...this.#removals,
        ...left.filter((container) => !container.isRemoving).map((container) => container.remove()),
      ]);
      await this.#world.gate.waitUntilDeadFor(stoppedMs, SETTLE_MS);
    }
    await this.#removeSandbox(
      sandboxId,
      left.map(({ story }) => story),
    );
    await Promise.all(this.#removals);
  }

  async #removeSandbox(podSandboxId: string, withIt: readonly ContainerStory[] = []): Promise<void> {
    const story = this.#story;
    await this.#world.remove(story.notes, 'RemovePodSandbox', () => {
      story.removalCalledMs ??= wallMs();
      for (const container of withIt) container.removalCalledMs ??= wallMs();
      return this.#world.driver.call(runtimeService.removePodSandbox, { podSandboxId });
    });
    story.removedMs = wallMs();
    for (const container of withIt) container.removedMs ??= wallMs();
  }
}
