import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { checkSubdomain } from '#kube/validation/name-rules.js';
import { PodloopError } from '#base/errors/errors.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** The identity of this node. */
export interface NodeIdentity {
  /** The suffix of its pods' names. */
  readonly name: string;
  /** Written on everything that the agent creates: objects with another one are never touched. */
  readonly instanceId: string;
  /** See {@link HostIps.current}. */
  readonly ips: () => readonly string[];
}

const INSTANCE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The given name, otherwise the machine's own in lower case. Throws OPTION_INVALID for a name that Kubernetes
 * would refuse.
 */
export function resolveNodeName(told: string | undefined, ownName: string = hostname()): string {
  const name = (told ?? ownName).trim().toLowerCase();
  const rule = checkSubdomain(name);
  if (rule === undefined) return name;
  const source = told === undefined ? 'the machine’s own name' : 'node name';
  const remedy = told === undefined ? '; give another with --node-name' : '';
  throw new PodloopError('OPTION_INVALID', `${source} ${JSON.stringify(name)}: ${rule}${remedy}`);
}

/**
 * The id of the agent that works in a root folder: created at the first start and stored there.
 *
 * Throws OPTION_INVALID for an invalid file, as another id would make every pod foreign.
 */
export async function readInstanceId(rootDir: string): Promise<string> {
  const path = join(rootDir, 'instance-id');
  const kept = (await readIfThere(path))?.trim();
  if (kept === undefined) {
    const fresh = randomUUID();
    await writeWhole(path, `${fresh}\n`);
    return fresh;
  }
  if (INSTANCE_ID.test(kept)) return kept;
  throw new PodloopError(
    'OPTION_INVALID',
    `${path} does not hold the id of this node; put back the one that its pods carry as label podloop.dev/node-instance, or remove the file and those pods`,
  );
}
