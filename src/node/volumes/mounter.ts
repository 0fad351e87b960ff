import { type Clock } from '#base/time/clock.js';
import { MountShells, type MountShellsCounts } from './mount-shells.js';
import { MountToolFailure, runMountTool } from './mount-tool.js';

/** A file system in memory to mount. */
export interface TmpfsMount {
  /** Absolute, existing, and without links. */
  readonly folder: string;
  /** Default: half of the machine's memory. */
  readonly sizeBytes?: bigint | undefined;
  /** Permission bits of its root. */
  readonly mode: number;
  /** The group of its root (default: the agent's own). */
  readonly gid?: number | undefined;
}

/**
 * Mounts and unmounts for volumes; present mounts are read from the node's table of mounts, never remembered.
 */
export interface Mounter {
  /**
   * Mounts a tmpfs whose root is correct from its first moment; never swapped if the kernel supports that.
   *
   * The signal ends the wait for its turn.
   */
  mountTmpfs(mount: TmpfsMount, signal?: AbortSignal): Promise<void>;
  /** Shows an open file or folder at a second path, by default without what is mounted below it. */
  bindDescriptor(descriptor: number, path: string, how?: BindManner): Promise<void>;
  /** From now on nothing that is unmounted at or below a path is unmounted anywhere else. */
  makeSlave(path: string): Promise<void>;
  /** Removes the topmost mount at a path. Rejects while it is in use, unless it may go lazily. */
  unmount(path: string, how?: UnmountManner): Promise<void>;
}

/** How to show a folder at a second path. */
export interface BindManner {
  /** With what is mounted below it. */
  readonly recursive?: boolean;
  /** What is mounted in the original later appears in the copy, but not the other way round. */
  readonly slave?: boolean;
}

/** How to unmount something. */
export interface UnmountManner {
  /** Invisible at once, and removed when nobody uses it any more. */
  readonly lazily?: boolean;
  /** It is in memory, so it waits for no device and no peer. */
  readonly isTmpfs?: boolean;
}

/** Otherwise the tools read /etc/fstab, keep tables of their own, and follow links in their arguments. */
const AS_TOLD = ['-n', '-i', '-c'];

/** Mounts with mount(8) and umount(8) of util-linux. */
export class ToolMounter implements Mounter, AsyncDisposable {
  /** Whether the kernel supports `noswap`; undefined until it was tried. */
  #knowsNoswap: boolean | undefined;
  readonly #shells: MountShells;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#shells = new MountShells({ clock });
  }

  /** The counters of mounts and unmounts in memory. */
  get counts(): MountShellsCounts {
    return this.#shells.counts;
  }

  async mountTmpfs({ folder, sizeBytes, mode, gid }: TmpfsMount, signal?: AbortSignal): Promise<void> {
    const options = [
      // No device is opened in a volume, and a runtime that requires this has nothing to remount.
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
        // A tool that was killed, or never started, says nothing about the kernel.
        if (this.#knowsNoswap === true || !(error instanceof MountToolFailure)) throw error;
      }
    }
    await mount(options);
    // Only now, as the first try may have failed for any other reason.
    this.#knowsNoswap = false;
  }

  async bindDescriptor(
    descriptor: number,
    path: string,
    { recursive = false, slave = false }: BindManner = {},
  ): Promise<void> {
    const options = `${recursive ? 'rbind' : 'bind'}${slave ? ',rslave' : ''}`;
    await runMountTool('mount', [...AS_TOLD, '-o', options, '/proc/self/fd/3', path], descriptor);
  }

  async makeSlave(path: string): Promise<void> {
    await runMountTool('mount', [...AS_TOLD, '--make-rslave', path]);
  }

  async unmount(path: string, { lazily = false, isTmpfs = false }: UnmountManner = {}): Promise<void> {
    const args = [...AS_TOLD, ...(lazily ? ['-l'] : []), path];
    await (isTmpfs ? this.#shells.run('umount', args) : runMountTool('umount', args));
  }

  /** Lets running tools end and stops the idle shells; nothing can be mounted after that. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shells[Symbol.asyncDispose]();
  }
}
