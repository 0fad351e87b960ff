import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type AllowedHostPath, findAllowedHostPath } from '#kube/node/node-policy.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/**
 * Rejects for a path of the node that is not below an allowed one, also after following links.
 *
 * A missing path may be created there. The check is valid only now: anyone who may write to the parent folder
 * can put a link there later. So pods must not be able to write to a place that others mount; with `:ro` none
 * of them can.
 */
export async function checkHostPath(path: string, allowed: readonly AllowedHostPath[]): Promise<void> {
  const above = findAllowedHostPath(path, allowed);
  if (above === undefined) throw new Error(`hostPath ${path} is not below a path of --allowed-host-paths`);
  const [real, realAbove] = await Promise.all([resolveLinks(path), resolveLinks(above.path)]);
  if (isBelow(real, realAbove)) return;
  const why = `links lead to ${real}, which is not below ${above.path} of --allowed-host-paths`;
  throw new Error(`hostPath ${path} is not allowed: ${why}`);
}

/** Resolves links; the part of a path that does not exist stays as it is. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
  // A file that is created through a dangling link appears where the link leads.
  if (await isThere(path)) throw new Error(`hostPath ${path} is not allowed: it is a link to nowhere`);
  return join(await resolveLinks(dirname(path)), basename(path));
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
