import { messageOf } from '#base/errors/errors.js';
import { findImageFolders } from '../image-folders.js';
import { findVolumePaths } from '../images/container-roots.js';
import { type ContainerUser } from '../isolation/container-user.js';
import { rootIdsOf, type ContainerRecord } from './container-record.js';
import { type ContainerHost } from './container-host.js';

/** A container that is being made: its record, as far as it is known before its parts are. */
export type ContainerPlan = Omit<ContainerRecord, 'user'>;

/** What a container is beside its record: files of its own, and a cgroup with its limits. */
export class ContainerParts {
  readonly #host: ContainerHost;

  constructor(host: ContainerHost) {
    this.#host = host;
  }

  /**
   * Makes the parts; when it rejects some may be left for {@link ContainerParts.undo}.
   *
   * @returns as whom its program runs, which its files decide.
   */
  async assemble(plan: ContainerPlan, signal: AbortSignal): Promise<ContainerUser> {
    const { images, isolation, cgroups } = this.#host;
    const { id, sandboxId, imageId, config, image } = plan;
    const mounted = config.mounts.map(({ containerPath }) => containerPath);
    const volumes = findVolumePaths(images.configOf(imageId).volumes, mounted);
    const root = await images.prepareRoot({
      imageId,
      containerId: id,
      isolated: isolation.hasRoots,
      volumes,
      signal,
    });
    const user = await isolation.resolveUser(config, image.user, root);
    await findImageFolders(images, plan, signal);
    await cgroups.createContainer(sandboxId, id, config.linux?.resources);
    return user;
  }

  /** Undoes what there is of them; that something cannot be is said in the log. */
  async undo({ id, sandboxId, imageVolumes }: ContainerPlan): Promise<void> {
    const { images, cgroups, logger } = this.#host;
    const undone = await Promise.allSettled([
      cgroups.findContainer(sandboxId, id).remove(),
      ...rootIdsOf({ id, imageVolumes }).map((rootId) => images.releaseRoot(rootId)),
    ]);
    for (const each of undone) {
      if (each.status === 'fulfilled') continue;
      logger.warn('Half a container not undone', { containerId: id, err: messageOf(each.reason) });
    }
  }

  /** Takes the parts of a container away that does not run. Rejects when its files stay. */
  async dismantle(record: ContainerRecord): Promise<void> {
    const { images, cgroups } = this.#host;
    await cgroups.findContainer(record.sandboxId, record.id).remove();
    for (const rootId of rootIdsOf(record)) await images.releaseRoot(rootId);
  }
}
