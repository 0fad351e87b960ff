import { join } from 'node:path';

/**
 * The paths of pods' volumes on the node, as below a kubelet's root. Pure.
 *
 * ```
 * ROOT/pods/<uid>/volumes/<kind>/<volume>                             kind: kubernetes.io~empty-dir, …~configmap, …
 * ROOT/pods/<uid>/volume-subpaths/<volume>/<container>/<index>        part of a volume, for one mount of a container
 * ROOT/pods/<uid>/volume-host-paths/<volume>/<container>/<index>      a path of the node, for one mount of a container
 * ROOT/pods/<uid>/volume-claims/<volume>                              which folder of the node a claimed volume is
 * ```
 *
 * Names and uids are validated before they come here: none has a slash or is `..`.
 */
export class VolumePaths {
  readonly podsFolder: string;

  /** `podsFolder`: absolute, ROOT/pods. */
  constructor(podsFolder: string) {
    this.podsFolder = podsFolder;
  }

  podFolder(uid: string): string {
    return join(this.podsFolder, uid);
  }

  /** All volumes of a pod. */
  volumesFolder(uid: string): string {
    return join(this.podFolder(uid), 'volumes');
  }

  /** The volumes of one kind. */
  kindFolder(uid: string, kind: string): string {
    return join(this.volumesFolder(uid), kind);
  }

  volumeFolder(uid: string, kind: string, volume: string): string {
    return join(this.kindFolder(uid, kind), volume);
  }

  /** All subpaths of volumes that are mounted for containers of a pod. */
  subPathsFolder(uid: string): string {
    return join(this.podFolder(uid), 'volume-subpaths');
  }

  /** All paths of the node that are mounted for containers of a pod. */
  hostPathsFolder(uid: string): string {
    return join(this.podFolder(uid), 'volume-host-paths');
  }

  /** The marks of all claimed volumes of a pod. */
  claimsFolder(uid: string): string {
    return join(this.podFolder(uid), 'volume-claims');
  }

  claim(uid: string, volume: string): string {
    return join(this.claimsFolder(uid), volume);
  }

  /** Everything of a pod's volumes. */
  foldersOf(uid: string): readonly string[] {
    return [
      this.subPathsFolder(uid),
      this.hostPathsFolder(uid),
      this.volumesFolder(uid),
      this.claimsFolder(uid),
    ];
  }

  /** For the mount at `index` in the container's volumeMounts. */
  subPath(uid: string, volume: string, container: string, index: number): string {
    return join(this.subPathsFolder(uid), volume, container, String(index));
  }

  /** For the mount at `index` in the container's volumeMounts. */
  hostPath(uid: string, volume: string, container: string, index: number): string {
    return join(this.hostPathsFolder(uid), volume, container, String(index));
  }
}
