import { systemCodeOf } from '../../errors/system-code.js';
import { type CgroupIo } from './cgroup-io.js';

/** Removes a group, by its folder, in which there is no other and no process; false when it stays. Does not reject. */
export async function removeEmptyGroup(io: Pick<CgroupIo, 'removeGroup'>, folder: string): Promise<boolean> {
  const code = await io.removeGroup(folder).then(() => '', systemCodeOf);
  return code === '' || code === 'ENOENT';
}
