import { type ContainerRecord, volumeRootId } from './container/container-record.js';
import { type ContainerRoot } from './images/container-roots.js';
import { type ImageStore } from './images/image-store.js';
import { resolveImagePath } from './isolation/mounts/container-volumes.js';

/**
 * Takes the images that a container mounts as volumes into use, and finds their files: by the mount's place in the
 * request. Throws when an image, or the path in it, is not there, and the signal's reason when that aborts.
 */
export async function findImageFolders(
  images: Pick<ImageStore, 'prepareRoot'>,
  { id, config, imageVolumes }: Pick<ContainerRecord, 'id' | 'config' | 'imageVolumes'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, string>> {
  const folders = new Map<number, string>();
  for (const { at, imageId } of imageVolumes) {
    const root = await images.prepareRoot({ imageId, containerId: volumeRootId(id, at), signal });
    const folder = folderOf(root);
    await resolveImagePath(config.mounts[at]!, folder);
    folders.set(at, folder);
  }
  return folders;
}

/** What the image brings, without what a container would write over it. */
function folderOf(root: ContainerRoot): string {
  switch (root.kind) {
    case 'host':
      return '/';
    case 'folder':
      return root.path;
    case 'overlay':
      return root.lowerDirs[0]!;
  }
}
