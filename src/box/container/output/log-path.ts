import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { invalidArgument } from '../../rpc-error.js';

/**
 * The absolute path of a container's log: CRI's `log_path` below the sandbox's `log_directory`. Empty when either
 * is, which means that nobody wants the output.
 *
 * Throws INVALID_ARGUMENT for a path that leaves the directory, by its words or by links on its way.
 */
export async function resolveLogPath(directory: string, path: string): Promise<string> {
  if (directory === '' || path === '') return '';
  if (!isAbsolute(directory)) throw invalidArgument(`log_directory "${directory}" is not absolute`);
  const relative = normalize(path);
  const climbs =
    isAbsolute(path) || relative === '..' || relative.startsWith(`..${sep}`) || path.includes('\0');
  if (climbs || relative === '.' || relative.endsWith(sep)) {
    throw invalidArgument(`log_path "${path}" is not a file below log_directory`);
  }
  const file = join(directory, relative);
  const [base, folder] = await Promise.all([realExisting(directory), realExisting(dirname(file))]);
  if (base !== undefined && folder !== undefined && folder !== base && !folder.startsWith(join(base, sep))) {
    throw invalidArgument(`log_path "${path}" leads out of log_directory through a link`);
  }
  return file;
}

async function realExisting(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
