import { refused } from '../../rpc-error.js';
import { findLinkFreePath } from './link-free-path.js';
import { API_FOLDERS, isInOurDev } from './mount-plan.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { DEV_LINKS } from '../script/tool-kit.js';
import { inOrderOfDepth, type Volume } from './container-volumes.js';

/**
 * Puts volumes where the container will see them, as an image may have links where they are to be mounted; those on
 * which others lie come first. Throws UNKNOWN for one that links lead to a place where nothing can be mounted.
 *
 * @param roots the container's files, the uppermost first.
 */
export async function placeVolumes(
  volumes: readonly Volume[],
  roots: readonly string[],
): Promise<readonly Volume[]> {
  const placed = new Map<string, Volume>();
  for (const volume of volumes) {
    const target = await findLinkFreePath(roots, volume.target, [...API_FOLDERS, ...placed.keys()]);
    if (target === '/' || isBelow(target, '/proc'))
      throw refused(`"${volume.target}" cannot be mounted, as the image's links lead to ${target}`);
    placed.set(target, { ...volume, target });
  }
  const all = inOrderOfDepth([...placed.values()]);
  for (const { target } of all) {
    const link = Object.keys(DEV_LINKS).find((name) => isBelow(target, `/dev/${name}`));
    if (link !== undefined && isInOurDev(target, all))
      throw refused(`"${target}" cannot be mounted, as /dev/${link} is a link in every container`);
  }
  return all;
}
