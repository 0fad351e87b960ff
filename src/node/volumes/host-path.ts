import { type HostPathType } from '#kube/pod/volume.js';
import { SingleFlight } from '#base/async/single-flight.js';
import { type OpenedPlace } from '#base/fs/open-below.js';
import { type AllowedHostPaths } from './allowed-host-paths.js';
import { type BoundedLooks, UnansweredError } from './bounded-looks.js';
import { prepareHostPath } from './prepare-host-path.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** Options of {@link HostPath}. */
export interface HostPathOptions {
  readonly looks: BoundedLooks;
  /** The only paths that pods may mount (default: any). */
  readonly allowed?: Pick<AllowedHostPaths, 'check' | 'open'> | undefined;
}

/** A file or folder of the node: it does not belong to the pod and is never removed. */
export class HostPath implements VolumeKind {
  readonly folderName = undefined;
  /** Only if pods may not mount every path. */
  readonly open: VolumeKind['open'];
  readonly #options: HostPathOptions;
  /** Checks under way, by path and type: pods that want the same share one. */
  readonly #checks = new SingleFlight<void>();
  /** By pod, what was found correct. */
  readonly #found = new Map<string, Set<string>>();

  constructor(options: HostPathOptions) {
    this.#options = options;
    const { allowed } = options;
    if (allowed !== undefined) this.open = (work) => this.#open(allowed, work);
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
    const check = this.#checks.run(key, async () => this.#check(path, isFound ? undefined : type));
    const found = this.#found.get(work.pod.metadata.uid) ?? new Set();
    this.#found.set(work.pod.metadata.uid, found);
    try {
      await check;
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

  #open(allowed: Pick<AllowedHostPaths, 'open'>, { volume }: PodVolume): Promise<OpenedPlace> {
    const { path } = volume.hostPath!;
    const close = ({ handle }: OpenedPlace): void => void handle.close().catch(() => undefined);
    return this.#options.looks.run(path, async () => allowed.open(volume.hostPath!), close);
  }

  async #check(path: string, type: HostPathType | undefined): Promise<void> {
    const { allowed, looks } = this.#options;
    const prepares = type !== undefined && type !== '';
    if (allowed === undefined && !prepares) return;
    const check = looks.run(path, async () => {
      if (!prepares) await allowed?.check(path);
      else if (allowed === undefined) await prepareHostPath({ path, type });
      else await (await allowed.open({ path, type })).handle.close();
    });
    await check.catch((error: unknown) => {
      if (!(error instanceof UnansweredError)) throw error;
      throw new UnansweredError(`hostPath type check failed: ${error.message}`);
    });
  }
}

/** One volume of a pod in its present definition. */
function nameOf({ volume: { name, hostPath } }: PodVolume): string {
  return `${name} ${hostPath?.type ?? ''} ${hostPath?.path}`;
}
