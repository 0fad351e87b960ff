import { posix } from 'node:path';
import { searchPath } from '../../container/search-path.js';
import { type ContainerCommand } from '../../container/supervisor-script.js';

/** Where a command's program may be, in search order: absolute paths in the container's root. */
export function findCandidates(
  command: Pick<ContainerCommand, 'argv' | 'environment' | 'workingDir'>,
): readonly string[] {
  const [name = ''] = command.argv;
  const at = (folder: string) => posix.resolve(command.workingDir, folder, name);
  return name.includes('/') ? [at('')] : searchPath(command).map(at);
}
