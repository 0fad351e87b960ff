import { join } from 'node:path';
import { type CgroupIo } from './cgroup-io.js';
import { type Hierarchy } from './cgroup-mounts.js';

/** The trees that are in use, and where in them things are. With no tree at all nothing can be done, nor fails. */
export class CgroupLayout {
  readonly io: CgroupIo;
  /** The first is the one in which groups are looked for: made first and removed last. */
  readonly hierarchies: readonly Hierarchy[];

  constructor(io: CgroupIo, hierarchies: readonly Hierarchy[]) {
    this.io = io;
    this.hierarchies = hierarchies;
  }

  get controllers(): readonly string[] {
    return this.hierarchies.flatMap(({ controllers }) => controllers);
  }

  /** The tree that has a controller. */
  find(controller: string): Hierarchy | undefined {
    return this.hierarchies.find(({ controllers }) => controllers.includes(controller));
  }

  /** Whether limits are those of version 2; the tree of version 2 beside those of 1 has next to none. */
  get version(): 1 | 2 {
    return this.hierarchies[0]?.version ?? 2;
  }

  /** The tree of version 2, alone or beside those of version 1. */
  get unified(): Hierarchy | undefined {
    return this.hierarchies.find(({ version }) => version === 2);
  }

  /** What a controller's file says about a group; undefined without controller, group or file. */
  read(controller: string, group: string, file: string): string | undefined {
    const hierarchy = this.find(controller);
    return hierarchy && this.io.read(join(hierarchy.mountpoint, group, file));
  }
}
