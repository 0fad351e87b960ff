import { type Clock } from '#base/time/clock.js';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { findCgroupMounts, V2_CONTROLLERS } from '#base/proc/cgroups/cgroup-mounts.js';

/** What {@link ContainerGroups} needs. */
export interface ContainerGroupsOptions {
  readonly layout: CgroupLayout;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Delay before searching again for a container without a visible group. */
const SEARCH_AGAIN_MS = 10_000;
/** More than any node has; a larger tree is not searched to its end. */
const MAX_GROUPS = 50_000;
/**
 * The complete names of containers' groups: `ID`, `cri-containerd-ID.scope`, `crio-ID` …
 *
 * Other groups also have the id in their names: helpers that monitor containers (`crio-conmon-ID.scope`), and
 * mounts (`…-ID-rootfs.mount`).
 */
const GROUP_NAME = /^(?:(?:cri-containerd|crio|docker|libpod)-)?([0-9a-f]{32,64})(?:\.scope)?$/;

/** The machine's readable cgroups, from the text of /proc/self/mountinfo. */
export function readableCgroups(mountinfo: string, io: CgroupIo): CgroupLayout {
  const mounts = findCgroupMounts(mountinfo);
  const taken = mounts.flatMap(({ controllers }) => controllers);
  const hierarchies = mounts.map((mount) => {
    if (mount.version === 1) return mount;
    const there = (io.read(`${mount.mountpoint}/cgroup.controllers`) ?? '').trim().split(' ');
    return {
      ...mount,
      controllers: V2_CONTROLLERS.filter((name) => there.includes(name) && !taken.includes(name)),
    };
  });
  return new CgroupLayout(io, hierarchies);
}

/**
 * Finds the cgroups of containers by their ids, which every runtime has in the names of its groups, wherever
 * they are.
 *
 * The tree is searched only when there is a new container.
 */
export class ContainerGroups {
  readonly #layout: CgroupLayout;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #known = new Map<string, string>();
  #searchedAtMs = -Infinity;
  #searched = new Set<string>();

  constructor({ layout, clock }: ContainerGroupsOptions) {
    this.#layout = layout;
    this.#clock = clock;
  }

  /** The groups of these containers and sandboxes, by id; those without a group are left out. */
  async find(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const missing = ids.filter((id) => !this.#known.has(id));
    const isNew = missing.some((id) => !this.#searched.has(id));
    const nowMs = this.#clock.monotonicMs();
    if (isNew || (missing.length > 0 && nowMs - this.#searchedAtMs >= SEARCH_AGAIN_MS)) {
      this.#searchedAtMs = nowMs;
      this.#searched = new Set(ids);
      this.#known = await this.#search(new Set(ids));
    }
    return this.#known;
  }

  async #search(wanted: ReadonlySet<string>): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const tree = this.#layout.hierarchies[0];
    if (tree === undefined) return found;
    const pending = [''];
    for (let seen = 0; seen < MAX_GROUPS && found.size < wanted.size; seen++) {
      const group = pending.pop();
      if (group === undefined) break;
      for (const name of await this.#layout.io.children(`${tree.mountpoint}${group}`).catch(() => [])) {
        const path = `${group}/${name}`;
        const id = GROUP_NAME.exec(name)?.[1];
        if (id !== undefined && wanted.has(id) && !found.has(id)) found.set(id, path);
        pending.push(path);
      }
    }
    return found;
  }
}
