import { type ContainerCommand } from './supervisor-script.js';

/** The PATH of containers that bring none. */
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Where a program is looked for whose name has no slash: folders in their order, which may be relative. */
export function searchPath({ environment }: Pick<ContainerCommand, 'environment'>): readonly string[] {
  const path = environment.find((entry) => entry.toString('latin1', 0, 5) === 'PATH=');
  return (path?.toString('utf8', 5) ?? DEFAULT_PATH).split(':').filter((folder) => folder !== '');
}
