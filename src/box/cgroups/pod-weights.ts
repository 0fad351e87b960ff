import { join } from 'node:path';
import { LinuxContainerResources, type PodSandboxConfig } from '#watch/messages';
import { Mutex } from '#base/async/mutex.js';
import { applySettings } from './apply-settings.js';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { computeSettings } from './resource-settings.js';

const HIGHEST = { 1: 262_144, 2: 10_000 } as const;
const FILE = { 1: 'cpu.shares', 2: 'cpu.weight' } as const;

/**
 * The CPU weights of pods' groups: what the pod's resources say, else the sum over its containers.
 *
 * Without them pods would share the CPU evenly, however much their containers asked for: weights count only between
 * groups of the same parent. Of a pod's own resources nothing else is applied: what an agent sends there is the sum
 * over those containers that have a limit, and would bind those that have none. Limits of pods are the agent's to
 * set, on the cgroup parent.
 */
export class PodWeights {
  readonly #layout: CgroupLayout;
  /** Pods whose weight was given. */
  readonly #given = new Set<string>();
  readonly #mutex = new Mutex();

  constructor(layout: CgroupLayout) {
    this.#layout = layout;
  }

  /** Takes up what a pod's configuration says. @param path the pod's group. */
  async apply(sandboxId: string, path: string, config: PodSandboxConfig): Promise<void> {
    const { resources, overhead } = config.linux ?? {};
    const cpuShares = (resources?.cpuShares ?? 0n) + (overhead?.cpuShares ?? 0n);
    if (cpuShares <= 0n) {
      this.#given.delete(sandboxId);
      await this.balance(sandboxId, path);
      return;
    }
    this.#given.add(sandboxId);
    const wanted = LinuxContainerResources.fromPartial({ cpuShares });
    await applySettings(this.#layout, path, computeSettings(wanted, this.#layout.version));
  }

  /** What an earlier runtime has applied. */
  restore(sandboxId: string, config: PodSandboxConfig): void {
    if ((config.linux?.resources?.cpuShares ?? 0n) > 0n) this.#given.add(sandboxId);
  }

  /** Sums up the weights again, unless the pod's was given: its containers or their weights have changed. */
  async balance(sandboxId: string, path: string): Promise<void> {
    if (this.#given.has(sandboxId)) return;
    await this.#mutex.run(() => this.#sumUp(path));
  }

  forget(sandboxId: string): void {
    this.#given.delete(sandboxId);
  }

  async #sumUp(pod: string): Promise<void> {
    const { io } = this.#layout;
    const cpu = this.#layout.find('cpu');
    if (cpu === undefined) return;
    const file = FILE[cpu.version];
    const path = join(cpu.mountpoint, pod);
    let sum = 0;
    for (const name of await io.children(path)) sum += Number(io.read(join(path, name, file)) ?? 0);
    const weight = Math.min(HIGHEST[cpu.version], sum);
    // The group may be on its way out: nobody is left then to whom the weight matters.
    if (weight > 0) await io.write(join(path, file), String(weight)).catch(() => undefined);
  }
}
