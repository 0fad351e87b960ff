import { type HostPathType } from '#kube/pod/volume.js';
import { type BoundedLooks, UnansweredError } from './bounded-looks.js';
import { prepareHostPath } from './prepare-host-path.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** Options of {@link HostPath}. */
export interface HostPathOptions {
  readonly looks: BoundedLooks;
  /** Rejects for what pods may not mount, before and after it is created (default: anything is allowed). */
  readonly checkPath?: ((path: string) => Promise<void>) | undefined;
}

/** A file or folder of the node: it does not belong to the pod and is never removed. */
export class HostPath implements VolumeKind {
  readonly folderName = undefined;
  readonly #options: HostPathOptions;
  /** Checks under way, by path and type: pods that want the same share one. */
  readonly #looks = new Map<string, Promise<void>>();
  /** By pod, what was found correct. */
  readonly #found = new Map<string, Set<string>>();

  constructor(options: HostPathOptions) {
    this.#options = options;
  }

  /**
   * Prepares the path. What was correct once for a pod is not checked again, as with a kubelet.
   *
   * A socket may be away for a moment, and a container that starts later notices that itself. Whether pods
   * may have the path is checked each time.
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
      // It stays correct while nothing else is known.
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

/** One volume of a pod in its present definition. */
function nameOf({ volume: { name, hostPath } }: PodVolume): string {
  return `${name} ${hostPath?.type ?? ''} ${hostPath?.path}`;
}
