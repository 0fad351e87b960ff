import { posix } from 'node:path';
import { type ContainerCommand } from '../container/supervisor-script.js';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Where a command's program may be, in the order in which it is looked for: absolute paths in the container's root. */
export function findCandidates(
  command: Pick<ContainerCommand, 'argv' | 'environment' | 'workingDir'>,
): readonly string[] {
  const [name = ''] = command.argv;
  const at = (folder: string) => posix.resolve(command.workingDir, folder, name);
  if (name.includes('/')) return [at('')];
  const path = command.environment.find((entry) => entry.toString('latin1', 0, 5) === 'PATH=');
  const folders = (path?.toString('utf8', 5) ?? DEFAULT_PATH).split(':');
  return folders.filter((folder) => folder !== '').map(at);
}
