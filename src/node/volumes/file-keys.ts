import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { openExistingBelow } from '#base/fs/open-below.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { type Logger } from '#base/log/logger.js';
import { type Container } from '#kube/container/container.js';
import { type FileKeySelector } from '#kube/objects/env-source.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { findInEnvFile, readEnvLines } from './env-file.js';
import { type FileKey, type FileKeys } from '../runtime/config/resolve-environment.js';
import { sourceOf } from './volume-kind.js';

/** Options of {@link readFileKeys}. */
export interface FileKeysOptions {
  /** Where a volume of the pod is on the node. */
  readonly hostPathOf: (pod: NodePod, volume: Volume) => string;
  readonly logger: Logger;
}

/**
 * Reads what a container's variables take from files in emptyDir volumes, as of now.
 *
 * Containers write these files: no link out of a volume is followed, and what is no file is not opened. Never rejects.
 */
export async function readFileKeys(
  pod: NodePod,
  { env = [] }: Container,
  options: FileKeysOptions,
): Promise<FileKeys> {
  const found = new Map<FileKeySelector, FileKey | Error>();
  for (const { valueFrom } of env) {
    const selector = valueFrom?.fileKeyRef;
    if (selector !== undefined) found.set(selector, await readFileKey(pod, selector, options));
  }
  return found;
}

async function readFileKey(
  pod: NodePod,
  { volumeName, path, key }: FileKeySelector,
  { hostPathOf, logger }: FileKeysOptions,
): Promise<FileKey | Error> {
  const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
  if (volume === undefined || sourceOf(volume) !== 'emptyDir')
    return new Error(`cannot find the volume ${JSON.stringify(volumeName)} referenced by FileKeyRef`);
  const folder = hostPathOf(pod, volume);
  const file = join(folder, path);
  try {
    return { file, value: Buffer.from(await readValue(folder, path, key), 'latin1') };
  } catch (error) {
    logger.error('Failed to parse env file', new Error(`${file}: ${messageOf(error)}`), {
      pod: pod.metadata,
    });
    return new Error("couldn't parse env file");
  }
}

async function readValue(folder: string, path: string, key: string): Promise<string> {
  await using place = await openExistingBelow(folder, path.replace(/^\/+/, ''));
  if (place === undefined) throw new Error('no such file or directory');
  if (!place.facts.isFile()) throw new Error('is no file');
  await using handle = await open(pathOfHandle(place.handle), constants.O_RDONLY);
  return await findInEnvFile(readEnvLines(handle), key);
}
