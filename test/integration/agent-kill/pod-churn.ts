import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SeededRandom } from '../../containerd/churn/random.js';
import {
  CHURN_KINDS,
  churnManifest,
  type ChurnKind,
  type ChurnPlace,
  type ChurnPod,
  newChurnPod,
} from './churn-pod.js';

/** What a {@link PodChurn} is made with. */
export interface PodChurnOptions {
  /** Of the manifests. */
  readonly folder: string;
  readonly place: ChurnPlace;
  readonly random: SeededRandom;
  /** How many pods there are, more or less. */
  readonly size: number;
}

const KINDS: readonly [ChurnKind, ...ChurnKind[]] = [
  ...(['web', 'chain', 'crash', 'web', 'patient', 'job'] as const),
  ...(['doomed', 'retry', 'chain', 'web'] as const),
];

/** A folder of manifests in which something changes all the time: pods are edited, added and removed. */
export class PodChurn {
  readonly #options: PodChurnOptions;
  readonly #pods = new Map<string, ChurnPod>();
  readonly #removed = new Map<string, ChurnPod>();
  #made = 0;
  #changes = 0;

  constructor(options: PodChurnOptions) {
    this.#options = options;
  }

  /** As the folder says now. */
  get pods(): ReadonlyMap<string, ChurnPod> {
    return this.#pods;
  }

  /** How many changes there were. */
  get changes(): number {
    return this.#changes;
  }

  /** The pod of that name, also one that is gone. */
  find(name: string): ChurnPod | undefined {
    return this.#pods.get(name) ?? this.#removed.get(name);
  }

  /** Writes the first manifests, some of each kind. */
  async begin(): Promise<void> {
    while (this.#pods.size < this.#options.size) await this.#add();
  }

  /** Changes something again and again, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#changeOne();
      const waitMs = this.#options.random.between(50, 500);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  /** Removes every manifest. */
  async clear(): Promise<void> {
    for (const pod of [...this.#pods.values()]) await this.#remove(pod);
    for (const name of await readdir(this.#options.folder)) await rm(join(this.#options.folder, name));
  }

  async #changeOne(): Promise<void> {
    const { random, size } = this.#options;
    this.#changes++;
    const [first, ...rest] = [...this.#pods.values()];
    if (first === undefined || this.#pods.size < size - 1) return this.#add();
    const pod = random.pick([first, ...rest]);
    const choice = random.next();
    if (choice < 0.2) return this.#remove(pod);
    if (choice < 0.4 && this.#pods.size <= size) return this.#add();
    if (choice < 0.5) return this.#write({ ...pod, note: pod.note + 1 });
    if (choice < 0.6 && pod.kind === 'web') return this.#replace(pod);
    if (!CHURN_KINDS[pod.kind].editable) return this.#write({ ...pod, note: pod.note + 1 });
    const generations = Object.fromEntries(
      Object.entries(pod.generations).map(([name, generation]) => [name, generation + 1]),
    );
    return this.#write({ ...pod, generations });
  }

  async #add(): Promise<void> {
    const number = this.#made++;
    await this.#write(newChurnPod(`pod-${number}`, KINDS[number % KINDS.length] ?? KINDS[0]));
  }

  /** Gone, and soon there again under its name, with other containers. */
  async #replace(pod: ChurnPod): Promise<void> {
    await this.#remove(pod);
    await new Promise((resolve) => setTimeout(resolve, this.#options.random.between(0, 300)));
    const generation = 1 + Math.max(...Object.values(pod.generations));
    await this.#write({ ...newChurnPod(pod.name, pod.kind, generation), note: pod.note });
  }

  async #remove(pod: ChurnPod): Promise<void> {
    this.#pods.delete(pod.name);
    this.#removed.set(pod.name, pod);
    await rm(this.#fileOf(pod));
  }

  /** Sometimes at once, and sometimes so that it can be seen half written. */
  async #write(pod: ChurnPod): Promise<void> {
    const { place, random, folder } = this.#options;
    const manifest = churnManifest(pod, place);
    const isAtOnce = random.chance(0.5);
    const file = isAtOnce ? join(folder, `.${pod.name}.new`) : this.#fileOf(pod);
    this.#pods.set(pod.name, pod);
    await writeFile(file, manifest);
    if (isAtOnce) await rename(file, this.#fileOf(pod));
  }

  #fileOf({ name }: ChurnPod): string {
    return join(this.#options.folder, `${name}.json`);
  }
}
