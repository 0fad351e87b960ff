import { isBelow, type NumberedMount } from '#base/proc/mountinfo.js';

/** The mounts strictly below a path without links that a path leads to: those that others hide are left out. */
export function visibleMountsBelow<T extends NumberedMount>(
  mounts: readonly T[],
  path: string,
): readonly T[] {
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  const byParent = new Map<number, T[]>();
  for (const mount of mounts) {
    const siblings = byParent.get(mount.parentId);
    if (siblings === undefined) byParent.set(mount.parentId, [mount]);
    else siblings.push(mount);
  }
  const isReachable = ({ parentId, mountPoint }: T): boolean => {
    const isHidden = (byParent.get(parentId) ?? []).some(
      (other) => other.mountPoint !== mountPoint && isBelow(mountPoint, other.mountPoint),
    );
    const parent = byId.get(parentId);
    return !isHidden && (parent === undefined || parent.id === parent.parentId || isReachable(parent));
  };
  const isOnTop = ({ id, mountPoint }: T): boolean =>
    !(byParent.get(id) ?? []).some((other) => other.id !== id && other.mountPoint === mountPoint);
  return mounts.filter(
    (mount) =>
      mount.mountPoint !== path && isBelow(mount.mountPoint, path) && isOnTop(mount) && isReachable(mount),
  );
}
