import { join } from 'node:path';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { DEFAULT_PARENT } from './cgroup-parent.js';
import { makeGroup } from '#base/proc/cgroups/make-group.js';
import { describeMissing, type MissingController, remedyOf } from '#base/proc/cgroups/missing-controller.js';
import { type Logger } from '#base/log/logger.js';
import { RecentKeys } from '#base/async/recent-keys.js';
import { removeEmptyGroup } from '#base/proc/cgroups/remove-empty-group.js';

/** What {@link GroupParents} needs. */
export interface GroupParentsOptions {
  readonly layout: CgroupLayout;
  /** Begins the names of the groups of pods. */
  readonly prefix: string;
  readonly logger: Logger;
}

/** How often the way to a new group may be removed under our feet. */
const ATTEMPTS = 3;
/** How many missing controllers are remembered, so that each is logged once. */
const MAX_LOGGED = 1000;

/** Makes groups with what is missing above them, and takes away what was missing once no pod needs it. */
export class GroupParents {
  readonly #options: GroupParentsOptions;
  /** The folders of those that were not there before us: in another tree of this machine they may be somebody else's. */
  readonly #made = new Set<string>();
  /** Keys name groups; each pod may add another one. */
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });

  constructor(options: GroupParentsOptions) {
    this.#options = options;
  }

  /** Makes a group in all trees; when it rejects it may be there in some. */
  async make(path: string): Promise<void> {
    const { layout, prefix } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const { above, missing } = await makeGroup(layout, path);
        for (const each of missing) this.#logMissing(each);
        for (const folder of above) if (!folder.includes(`/${prefix}-`)) this.#made.add(folder);
        return;
      } catch (error) {
        // Somebody has removed the parent, for want of pods in it, just before we came.
        if (systemCodeOf(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Once for each: an agent may name parents that keep a controller back, and limits in them are without effect. */
  #logMissing(missing: MissingController): void {
    const { controller, group, reason } = missing;
    const key = [controller, group, reason].join(' ');
    if (!this.#logged.add(key)) return;
    this.#options.logger.warn('Cgroups of pods lack a controller', {
      ...{ controller, cgroup: group, why: describeMissing(missing), remedy: remedyOf(missing) },
    });
  }

  /** As far as nobody else has groups in them. The default parent is ours whoever has made it. Does not reject. */
  async remove(): Promise<void> {
    const { hierarchies, io } = this.#options.layout;
    const ours = hierarchies.map(({ mountpoint }) => join(mountpoint, DEFAULT_PARENT));
    for (const folder of [...new Set([...ours, ...this.#made])].reverse()) {
      if (await removeEmptyGroup(io, folder)) this.#made.delete(folder);
    }
  }
}
