import { type Clock } from '#base/time/clock.js';
import { MountShells, type MountShellsCounts } from './mount-shells.js';
import { MountToolFailure, runMountTool } from './mount-tool.js';

/** A file system in memory to be mounted. */
export interface TmpfsMount {
  /** Absolute, there, and without links. */
  readonly folder: string;
  /** Half of the machine's memory unless told. */
  readonly sizeBytes?: bigint | undefined;
  /** Permission bits of its root. */
  readonly mode: number;
  /** The group of its root (default: the agent's own). */
  readonly gid?: number | undefined;
}

/** Mounts and unmounts for volumes; what is mounted is read from the node's table of mounts, never remembered. */
export interface Mounter {
  /** Mounts a tmpfs whose root is as wanted from its first moment; never to be swapped where the kernel knows how. The signal ends the wait for its turn. */
  mountTmpfs(mount: TmpfsMount, signal?: AbortSignal): Promise<void>;
  /** Shows the file or folder that a descriptor has open at a path, too: not what is mounted below it. */
  bindDescriptor(descriptor: number, path: string): Promise<void>;
  /** Takes away the topmost mount at a path. Rejects while it is in use, unless it may go lazily. */
  unmount(path: string, how?: UnmountManner): Promise<void>;
}

/** How something is unmounted. */
export interface UnmountManner {
  /** Out of sight at once, and away when nobody uses it any more. */
  readonly lazily?: boolean;
  /** It is in memory, so that it waits for no device and no peer. */
  readonly isTmpfs?: boolean;
}

/** Without it the tools ask /etc/fstab, keep tables of their own, and follow links in what they are told to mount. */
const AS_TOLD = ['-n', '-i', '-c'];

/** Mounts with mount(8) and umount(8) of util-linux. */
export class ToolMounter implements Mounter, AsyncDisposable {
  /** Whether the kernel takes `noswap`; undefined until it was tried. */
  #knowsNoswap: boolean | undefined;
  readonly #shells: MountShells;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#shells = new MountShells({ clock });
  }

  /** How it stands with mounts and unmounts of what is in memory. */
  get counts(): MountShellsCounts {
    return this.#shells.counts;
  }

  async mountTmpfs({ folder, sizeBytes, mode, gid }: TmpfsMount, signal?: AbortSignal): Promise<void> {
    const options = [
      // No device is opened in a volume, and a runtime that wants it so has nothing to mount again.
      'nodev',
      ...(sizeBytes === undefined ? [] : [`size=${sizeBytes}`]),
      `mode=${mode.toString(8)}`,
      ...(gid === undefined ? [] : [`gid=${gid}`]),
    ];
    const mount = (list: readonly string[]): Promise<void> =>
      this.#shells.run('mount', [...AS_TOLD, '-t', 'tmpfs', '-o', list.join(','), 'tmpfs', folder], signal);
    if (this.#knowsNoswap !== false) {
      try {
        await mount([...options, 'noswap']);
        this.#knowsNoswap = true;
        return;
      } catch (error) {
        // A tool that was killed, or never begun, says nothing of the kernel.
        if (this.#knowsNoswap === true || !(error instanceof MountToolFailure)) throw error;
      }
    }
    await mount(options);
    // Only now: the first try may have failed for any other reason.
    this.#knowsNoswap = false;
  }

  async bindDescriptor(descriptor: number, path: string): Promise<void> {
    await runMountTool('mount', [...AS_TOLD, '-o', 'bind', '/proc/self/fd/3', path], descriptor);
  }

  async unmount(path: string, { lazily = false, isTmpfs = false }: UnmountManner = {}): Promise<void> {
    const args = [...AS_TOLD, ...(lazily ? ['-l'] : []), path];
    await (isTmpfs ? this.#shells.run('umount', args) : runMountTool('umount', args));
  }

  /** Lets what is under way come to its end and ends the processes that wait for more; nothing is mounted any more then. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shells[Symbol.asyncDispose]();
  }
}
