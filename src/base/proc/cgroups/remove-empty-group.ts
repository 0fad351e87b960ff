import { systemCodeOf } from '../../errors/system-code.js';
import { type CgroupIo } from './cgroup-io.js';

/**
 * Removes a group, given by its folder, if it has neither groups nor processes; returns false if it stays.
 * Does not reject.
 */
export async function removeEmptyGroup(io: Pick<CgroupIo, 'removeGroup'>, folder: string): Promise<boolean> {
  const code = await io.removeGroup(folder).then(() => '', systemCodeOf);
  return code === '' || code === 'ENOENT';
}
