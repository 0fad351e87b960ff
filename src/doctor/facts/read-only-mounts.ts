import { findMountOf, parseMountinfo } from '#base/proc/mountinfo.js';
import { type HostFiles } from './host-files.js';

/** As the first process of the machine sees them, which is in no container. */
const MOUNTS = '/proc/1/mountinfo';

/** Tells of paths without links whether nothing can be written there; of none, where the mounts cannot be read. */
export async function readReadOnlyMounts(files: HostFiles): Promise<(path: string) => boolean> {
  const mounts = parseReadOnlyMounts((await files.find(MOUNTS)) ?? '');
  return (path) => findMountOf(mounts, path)?.isReadOnly === true;
}

/** The mounts of a mountinfo file; read-only is the mount itself, or the file system below it. */
function parseReadOnlyMounts(
  text: string,
): (ReturnType<typeof parseMountinfo>[number] & { readonly isReadOnly: boolean })[] {
  return text.split('\n').flatMap((line) =>
    parseMountinfo(line).map((mount) => {
      const [head = '', tail = ''] = line.split(' - ');
      const options = [head.split(' ')[5] ?? '', tail.split(' ')[2] ?? ''];
      return { ...mount, isReadOnly: options.some((each) => each.split(',').includes('ro')) };
    }),
  );
}
