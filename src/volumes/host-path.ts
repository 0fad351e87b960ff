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
  /** By pod, what was found right. */
  readonly #found = new Map<string, Set<string>>();

  constructor(options: HostPathOptions) {
    this.#options = options;
  }

  /**
   * What was found right once for a pod is not looked at again, as with a kubelet: a socket may be away for a moment, and
   * what is started anew finds out by itself. Whether pods may have it is looked at each time.
   */
  async setUp(work: PodVolume): Promise<void> {
    const { path, type = '' } = work.volume.hostPath!;
    const isFound = await this.isReady(work);
    const key = `${isFound ? 'found' : type} ${path}`;
    let look = this.#looks.get(key);
    if (look === undefined) {
      look = this.#look(path, isFound ? undefined : type).finally(() => this.#looks.delete(key));
      this.#looks.set(key, look);
    }
    if (!(await settlesWithin(look, LIMIT_MS, this.#options.clock))) {
      throw new Error(`hostPath type check failed: ${path} does not answer`);
    }
    const found = this.#found.get(work.pod.metadata.uid) ?? new Set();
    this.#found.set(work.pod.metadata.uid, found);
    found.delete(nameOf(work));
    await look;
    found.add(nameOf(work));
  }

  isReady(work: PodVolume): Promise<boolean> {
    return Promise.resolve(this.#found.get(work.pod.metadata.uid)?.has(nameOf(work)) === true);
  }

  forget(podUid: string): void {
    this.#found.delete(podUid);
  }

  hostPathOf({ volume }: PodVolume): string {
    return volume.hostPath!.path;
  }

  async #look(path: string, type: HostPathType | undefined): Promise<void> {
    const { checkPath } = this.#options;
    await checkPath?.(path);
    if (type === undefined || type === '') return;
    await prepareHostPath({ path, type });
    await checkPath?.(path);
  }
}

/** One volume of a pod, as it is written now. */
function nameOf({ volume: { name, hostPath } }: PodVolume): string {
  return `${name} ${hostPath?.type ?? ''} ${hostPath?.path}`;
}
