import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type AllowedHostPath, findAllowedHostPath } from '#kube/node/node-policy.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/**
 * Rejects for a path of the node that is not below an allowed one, or that links lead out of it. What is not there yet
 * may be made there.
 *
 * It says how things are now: who may write to the folder above can put a link there later. So whatever pods may write to
 * is no place for what others mount; with `:ro` none of them can.
 */
export async function checkHostPath(path: string, allowed: readonly AllowedHostPath[]): Promise<void> {
  const above = findAllowedHostPath(path, allowed);
  if (above === undefined) throw new Error(`hostPath ${path} is not below a path of --allowed-host-paths`);
  const [real, realAbove] = await Promise.all([resolveLinks(path), resolveLinks(above.path)]);
  if (isBelow(real, realAbove)) return;
  const why = `links lead to ${real}, which is not below ${above.path} of --allowed-host-paths`;
  throw new Error(`hostPath ${path} is not allowed: ${why}`);
}

/** The same place without links; the part of it that is not there stays as it is. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
  // Whoever makes a file through a link to nowhere makes it where that leads.
  if (await isThere(path)) throw new Error(`hostPath ${path} is not allowed: it is a link to nowhere`);
  return join(await resolveLinks(dirname(path)), basename(path));
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
