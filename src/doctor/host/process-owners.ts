import { dirname, join } from 'node:path';
import { type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { findBundle } from './ask-shim.js';
import { type ContainerOwner } from './host-facts.js';
import { readBundle } from './read-bundle.js';

const ID = /[0-9a-f]{64}/g;
/** Deeper than that no process of a container is below its shim. */
const MAX_DEPTH = 100;

/** The pods and containers that processes belong to: by the container in their cgroup, and the bundle that their shim has for it. */
export class ProcessOwners {
  readonly #files: HostFiles;
  readonly #processes: ReadonlyMap<number, SeenProcess>;
  readonly #byContainer = new Map<string, ContainerOwner>();

  constructor(files: HostFiles, processes: readonly SeenProcess[]) {
    this.#files = files;
    this.#processes = new Map(processes.map((process) => [process.pid, process]));
  }

  /** Empty for a process that belongs to no container, or to one that nobody can name. */
  async find(pid: number): Promise<ContainerOwner> {
    const shim = this.#findShim(pid);
    if (shim === undefined || shim === pid) return {};
    const [containerId] = ((await this.#files.find(`/proc/${pid}/cgroup`)) ?? '').match(ID)?.slice(-1) ?? [];
    if (containerId === undefined) return {};
    const found = this.#byContainer.get(containerId);
    if (found !== undefined) return found;
    const bundle = await findBundle(this.#files, shim);
    const owner =
      bundle === undefined ? {} : await readBundle(this.#files, join(dirname(bundle), containerId));
    this.#byContainer.set(containerId, owner);
    return owner;
  }

  /** The first processes of all containers. */
  listInits(): SeenProcess[] {
    return [...this.#processes.values()].filter(
      ({ parent }) => this.#processes.get(parent)?.command.startsWith('containerd-shim') === true,
    );
  }

  #findShim(pid: number): number | undefined {
    let at = this.#processes.get(pid);
    for (let depth = 0; at !== undefined && depth < MAX_DEPTH; depth++) {
      if (at.command.startsWith('containerd-shim')) return at.pid;
      at = this.#processes.get(at.parent);
    }
    return undefined;
  }
}
