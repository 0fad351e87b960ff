import { type HostPathType } from '../model/volume.js';
import { type Clock } from '../util/clock.js';
import { settlesWithin } from '../util/settles-within.js';
import { prepareHostPath } from './prepare-host-path.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** What a {@link HostPath} is made of. */
export interface HostPathOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Rejects for what pods may not mount, before and after anything is made of it; anything may be unless told. */
  readonly checkPath?: ((path: string) => Promise<void>) | undefined;
}

/** A look at a path is quick, unless a file server does not answer. */
const LIMIT_MS = 10_000;

/** A file or folder of the node: nothing of it is the pod's, and nothing of it is ever taken away. */
export class HostPath implements VolumeKind {
  readonly folderName = undefined;
  readonly #options: HostPathOptions;
  /**
   * Looks under way, by path and type. A look that hangs keeps one of the few threads of the process for good: there is
   * never a second one at the same path.
   */
  readonly #looks = new Map<string, Promise<void>>();

  constructor(options: HostPathOptions) {
    this.#options = options;
  }

  async setUp({ volume }: PodVolume): Promise<void> {
    const { path, type = '' } = volume.hostPath!;
    const key = `${type} ${path}`;
    let look = this.#looks.get(key);
    if (look === undefined) {
      look = this.#prepare(path, type).finally(() => this.#looks.delete(key));
      this.#looks.set(key, look);
    }
    if (!(await settlesWithin(look, LIMIT_MS, this.#options.clock))) {
      throw new Error(`hostPath type check failed: ${path} does not answer`);
    }
    await look;
  }

  async #prepare(path: string, type: HostPathType): Promise<void> {
    const { checkPath } = this.#options;
    await checkPath?.(path);
    await prepareHostPath({ path, type });
    await checkPath?.(path);
  }

  /** It may go at any time, and then no container may start with it. */
  isReady(): Promise<boolean> {
    return Promise.resolve(false);
  }

  hostPathOf({ volume }: PodVolume): string {
    return volume.hostPath!.path;
  }
}
