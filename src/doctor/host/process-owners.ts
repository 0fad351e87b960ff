import { dirname, join } from 'node:path';
import { type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { findBundle } from './ask-shim.js';
import { type ContainerOwner } from './host-facts.js';
import { readBundle } from './read-bundle.js';

const ID = /[0-9a-f]{64}/g;
/** What stands between a runtime and a container: a shim of containerd, CRI-O's monitor. */
const isShim = ({ command }: SeenProcess): boolean => command.startsWith('containerd-shim');
const isConmon = ({ command }: SeenProcess): boolean => command === 'conmon';
/** Deeper than that no process of a container is below these. */
const MAX_DEPTH = 100;

/** The pods and containers that processes belong to: by the container in their cgroup, and the bundle that their shim or monitor has for it. */
export class ProcessOwners {
  readonly #files: HostFiles;
  readonly #processes: ReadonlyMap<number, SeenProcess>;
  readonly #byContainer = new Map<string, ContainerOwner>();
  #ofConmons: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(files: HostFiles, processes: readonly SeenProcess[]) {
    this.#files = files;
    this.#processes = new Map(processes.map((process) => [process.pid, process]));
  }

  /** Empty for a process that belongs to no container, or to one that nobody can name. */
  async find(pid: number): Promise<ContainerOwner> {
    const monitor = this.#findMonitor(pid);
    if (monitor === undefined || monitor.pid === pid) return {};
    // What runs in a container of a container has the ids of both, and the node knows one of them.
    const ids = new Set(((await this.#files.find(`/proc/${pid}/cgroup`)) ?? '').match(ID)?.reverse());
    for (const id of ids) {
      const owner = await this.#findOwner(monitor, id);
      if (owner.pod !== undefined) return owner;
    }
    return {};
  }

  async #findOwner(monitor: SeenProcess, containerId: string): Promise<ContainerOwner> {
    const found = this.#byContainer.get(containerId);
    if (found !== undefined) return found;
    const bundle = isShim(monitor)
      ? await this.#findBeside(monitor, containerId)
      : (await (this.#ofConmons ??= this.#readConmons())).get(containerId);
    const owner = bundle === undefined ? {} : await readBundle(this.#files, bundle);
    this.#byContainer.set(containerId, owner);
    return owner;
  }

  /** The first processes of all containers. */
  listInits(): SeenProcess[] {
    return [...this.#processes.values()].filter(({ parent }) => {
      const monitor = this.#processes.get(parent);
      return monitor !== undefined && (isShim(monitor) || isConmon(monitor));
    });
  }

  /** The bundles of a pod's containers are beside one another. */
  async #findBeside({ pid }: SeenProcess, containerId: string): Promise<string | undefined> {
    const bundle = await findBundle(this.#files, pid);
    return bundle === undefined ? undefined : join(dirname(bundle), containerId);
  }

  /** The bundles by the ids of their containers: each monitor works in that of its own; one of an exec works elsewhere. */
  async #readConmons(): Promise<ReadonlyMap<string, string>> {
    const bundles = new Map<string, string>();
    for (const { pid } of [...this.#processes.values()].filter(isConmon)) {
      const bundle = (await findBundle(this.#files, pid)) ?? '';
      for (const [id] of bundle.matchAll(ID)) bundles.set(id, bundle);
    }
    return bundles;
  }

  /** The outermost: a container may run a Docker, with shims of its own. */
  #findMonitor(pid: number): SeenProcess | undefined {
    let at = this.#processes.get(pid);
    let monitor: SeenProcess | undefined;
    for (let depth = 0; at !== undefined && depth < MAX_DEPTH; depth++) {
      if (isShim(at) || isConmon(at)) monitor = at;
      at = this.#processes.get(at.parent);
    }
    return monitor;
  }
}
