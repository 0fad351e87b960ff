import { readFile } from 'node:fs/promises';
import { type cri } from '#watch';

/** What the kernel and the runtime can do for the safety of pods, as far as they have told. */
export class SecurityFacts {
  /** Whether the kernel enforces AppArmor's profiles. */
  readonly appArmor: boolean;
  #strictGroups: boolean | undefined;
  #recursiveHandlers: ReadonlySet<string> = new Set();

  private constructor(appArmor: boolean) {
    this.appArmor = appArmor;
  }

  /** Asks the kernel. */
  static async read(): Promise<SecurityFacts> {
    const enabled = await readFile('/sys/module/apparmor/parameters/enabled', 'latin1').catch(() => '');
    return new SecurityFacts(enabled.startsWith('Y'));
  }

  /** Whether the runtime heeds supplementalGroupsPolicy Strict; undefined as long as it has not told. */
  get strictGroups(): boolean | undefined {
    return this.#strictGroups;
  }

  /** Whether containers of a handler can have mounts that are read-only with all below them; empty for the default one. */
  canMountRecursivelyReadOnly(handler: string): boolean {
    return this.#recursiveHandlers.has(handler);
  }

  /** What CRI's Status says. A runtime without features does not know of them. */
  take({ features, runtimeHandlers }: Pick<cri.StatusResponse, 'features' | 'runtimeHandlers'>): void {
    this.#strictGroups = features?.supplementalGroupsPolicy ?? false;
    const able = runtimeHandlers.filter((handler) => handler.features?.recursiveReadOnlyMounts === true);
    this.#recursiveHandlers = new Set(able.map(({ name }) => name));
  }
}
