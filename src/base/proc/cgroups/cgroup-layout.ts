import { join } from 'node:path';
import { type CgroupIo } from './cgroup-io.js';
import { type Hierarchy } from './cgroup-mounts.js';

/**
 * The trees of cgroups in use, and where each controller is. Without any tree, operations do nothing and do
 * not fail.
 */
export class CgroupLayout {
  readonly io: CgroupIo;
  /** The first one is searched for groups, so groups are created there first and removed there last. */
  readonly hierarchies: readonly Hierarchy[];

  constructor(io: CgroupIo, hierarchies: readonly Hierarchy[]) {
    this.io = io;
    this.hierarchies = hierarchies;
  }

  get controllers(): readonly string[] {
    return this.hierarchies.flatMap(({ controllers }) => controllers);
  }

  /** The tree with a controller. */
  find(controller: string): Hierarchy | undefined {
    return this.hierarchies.find(({ controllers }) => controllers.includes(controller));
  }

  /** Which version's limits apply; a version 2 tree beside version 1 has hardly any controllers. */
  get version(): 1 | 2 {
    return this.hierarchies[0]?.version ?? 2;
  }

  /** The version 2 tree, alone or beside those of version 1. */
  get unified(): Hierarchy | undefined {
    return this.hierarchies.find(({ version }) => version === 2);
  }

  /** The content of a controller's file for a group; undefined without controller, group or file. */
  read(controller: string, group: string, file: string): string | undefined {
    const hierarchy = this.find(controller);
    return hierarchy && this.io.read(join(hierarchy.mountpoint, group, file));
  }
}
