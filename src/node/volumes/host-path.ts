import { type HostPathType } from '#kube/pod/volume.js';
import { type BoundedLooks, UnansweredError } from './bounded-looks.js';
import { prepareHostPath } from './prepare-host-path.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** What a {@link HostPath} is made of. */
export interface HostPathOptions {
  readonly looks: BoundedLooks;
  /** Rejects for what pods may not mount, before and after anything is made of it (default: anything may be). */
  readonly checkPath?: ((path: string) => Promise<void>) | undefined;
}

/** A file or folder of the node: nothing of it is the pod's, and nothing of it is ever taken away. */
export class HostPath implements VolumeKind {
  readonly folderName = undefined;
  readonly #options: HostPathOptions;
  /** Looks under way, by path and type: pods that want the same share one. */
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
    const found = this.#found.get(work.pod.metadata.uid) ?? new Set();
    this.#found.set(work.pod.metadata.uid, found);
    try {
      await look;
    } catch (error) {
      // What was right stays so while nobody knows better.
      if (!(error instanceof UnansweredError)) found.delete(nameOf(work));
      throw error;
    }
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
    const { checkPath, looks } = this.#options;
    const prepares = type !== undefined && type !== '';
    if (checkPath === undefined && !prepares) return;
    const look = looks.run(path, async () => {
      await checkPath?.(path);
      if (!prepares) return;
      await prepareHostPath({ path, type });
      await checkPath?.(path);
    });
    await look.catch((error: unknown) => {
      if (!(error instanceof UnansweredError)) throw error;
      throw new UnansweredError(`hostPath type check failed: ${error.message}`);
    });
  }
}

/** One volume of a pod, as it is written now. */
function nameOf({ volume: { name, hostPath } }: PodVolume): string {
  return `${name} ${hostPath?.type ?? ''} ${hostPath?.path}`;
}
