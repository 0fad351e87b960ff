import { type LinuxContainerResources } from '#watch/messages';
import { mergeResources } from '../cgroups/merge-resources.js';
import { type ContainerFiles } from './container-files.js';

/** What {@link ContainerResources} needs. */
export interface ContainerResourcesOptions {
  readonly files: Pick<ContainerFiles, 'findResources' | 'writeResources'>;
  /** The limits of its creation. */
  readonly created: LinuxContainerResources | undefined;
}

/** The limits of one container: those of its creation, until UpdateContainerResources changes them. */
export class ContainerResources {
  readonly #options: ContainerResourcesOptions;
  #changed: LinuxContainerResources | undefined;

  constructor(options: ContainerResourcesOptions) {
    this.#options = options;
  }

  /** Those that hold now. */
  get current(): LinuxContainerResources | undefined {
    return this.#changed ?? this.#options.created;
  }

  /** Takes up what an earlier runtime has changed. */
  async restore(): Promise<void> {
    this.#changed = await this.#options.files.findResources();
  }

  /**
   * Records what will hold, makes it hold, and takes the record back when that fails.
   *
   * @param apply makes the whole of the new limits hold, or changes nothing and rejects.
   */
  async change(
    change: LinuxContainerResources,
    apply: (resources: LinuxContainerResources) => Promise<void>,
  ): Promise<void> {
    const { files } = this.#options;
    const resources = mergeResources(this.current, change);
    await files.writeResources(resources);
    try {
      await apply(resources);
    } catch (error) {
      await files.writeResources(this.#changed);
      throw error;
    }
    this.#changed = resources;
  }
}
