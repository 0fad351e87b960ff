import { readFile } from 'node:fs/promises';
import { type cri } from '#watch';
import { describeMissingUsers } from '../../runtime/config/security-context.js';

/** What the kernel and the runtime support for the security of pods, as far as they have reported it. */
export class SecurityFacts {
  /** Whether the kernel enforces AppArmor's profiles. */
  readonly appArmor: boolean;
  #strictGroups: boolean | undefined;
  #recursiveHandlers: ReadonlySet<string> = new Set();
  /** Whether each handler of the runtime has user namespaces, by name; empty for the default one. */
  #userNamespaces: ReadonlyMap<string, boolean> = new Map();

  private constructor(appArmor: boolean) {
    this.appArmor = appArmor;
  }

  /** Reads the kernel. */
  static async read(): Promise<SecurityFacts> {
    const enabled = await readFile('/sys/module/apparmor/parameters/enabled', 'latin1').catch(() => '');
    return new SecurityFacts(enabled.startsWith('Y'));
  }

  /** Whether the runtime supports supplementalGroupsPolicy Strict; undefined until it has reported that. */
  get strictGroups(): boolean | undefined {
    return this.#strictGroups;
  }

  /** Whether containers of a handler can have recursive read-only mounts; empty for the default one. */
  canMountRecursivelyReadOnly(handler: string): boolean {
    return this.#recursiveHandlers.has(handler);
  }

  /**
   * Why sandboxes of a handler can have no user namespace, in the kubelet's words; undefined if they can.
   *
   * Old runtimes report no handlers, and have none.
   */
  findUserNamespaceProblem(handler: string): string | undefined {
    const can = this.#userNamespaces.get(handler);
    if (can === true) return undefined;
    const isUnknown = can === undefined && this.#userNamespaces.size > 0;
    return `${describeMissingUsers(handler)}${isUnknown ? `: the handler ${JSON.stringify(handler)} is not known` : ''}`;
  }

  /** Stores the answer of CRI's Status. A runtime without features does not support them. */
  take({ features, runtimeHandlers }: Pick<cri.StatusResponse, 'features' | 'runtimeHandlers'>): void {
    this.#strictGroups = features?.supplementalGroupsPolicy ?? false;
    const able = runtimeHandlers.filter((handler) => handler.features?.recursiveReadOnlyMounts === true);
    this.#recursiveHandlers = new Set(able.map(({ name }) => name));
    this.#userNamespaces = new Map(
      runtimeHandlers.map((handler) => [handler.name, handler.features?.userNamespaces ?? false]),
    );
  }
}
