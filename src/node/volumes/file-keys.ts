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
import { EnvFileTooLarge, type EnvFileValue, findInEnvFile, readEnvFile } from './env-file.js';
import { MAX_EXPANDED } from '../runtime/config/container-environment.js';
import { type FileKey, type FileKeys } from '../runtime/config/resolve-environment.js';
import { sourceOf } from './volume-kind.js';

/** Options of {@link readFileKeys}. */
export interface FileKeysOptions {
  /** Where a volume of the pod is on the node. */
  readonly hostPathOf: (pod: NodePod, volume: Volume) => string;
  readonly logger: Logger;
}

/**
 * Reads what a container's variables take from files in emptyDir volumes, as of now: each file once.
 *
 * Containers write these files: no link out of a volume is followed, and what is no file is not opened. Once the values
 * exceed what an environment may have, the rest are Errors. Rejects with the signal's reason only.
 */
export async function readFileKeys(
  pod: NodePod,
  { env = [] }: Container,
  options: FileKeysOptions,
  signal: AbortSignal,
): Promise<FileKeys> {
  const selectors = env.flatMap(({ valueFrom }) => valueFrom?.fileKeyRef ?? []);
  const byFile = new Map<string, FileKeySelector[]>();
  for (const selector of selectors) {
    const file = JSON.stringify([selector.volumeName, selector.path]);
    const ofFile = byFile.get(file);
    if (ofFile === undefined) byFile.set(file, [selector]);
    else ofFile.push(selector);
  }
  const found = new Map<FileKeySelector, FileKey | Error>();
  let room = MAX_EXPANDED;
  for (const ofFile of byFile.values()) {
    const values = await readKeysOfFile(pod, ofFile, options, signal);
    for (const selector of ofFile) {
      const value = values.get(selector.key)!;
      if (!(value instanceof Error)) room -= value.value.length;
      found.set(selector, room < 0 ? tooMuch() : value);
    }
  }
  return found;
}

/** By key; `selectors` are all of one file. Variables of one key share its value. */
async function readKeysOfFile(
  pod: NodePod,
  selectors: readonly FileKeySelector[],
  { hostPathOf, logger }: FileKeysOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FileKey | Error>> {
  const { volumeName, path } = selectors[0]!;
  const keys = new Set(selectors.map(({ key }) => key));
  const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
  if (volume === undefined || sourceOf(volume) !== 'emptyDir') {
    const missing = new Error(
      `cannot find the volume ${JSON.stringify(volumeName)} referenced by FileKeyRef`,
    );
    return new Map([...keys].map((key) => [key, missing]));
  }
  const folder = hostPathOf(pod, volume);
  const file = join(folder, path);
  const toFileKey = (value: EnvFileValue): FileKey | Error => {
    if (!(value instanceof Error)) return { file, value: Buffer.from(value, 'latin1') };
    logger.error('Failed to parse env file', new Error(`${file}: ${messageOf(value)}`), {
      pod: pod.metadata,
    });
    // The limit is not a kubelet's, so its users have to see it.
    return new Error(
      `couldn't parse env file${value instanceof EnvFileTooLarge ? `: ${value.message}` : ''}`,
    );
  };
  try {
    const values = await readValues(folder, path, keys, signal);
    return new Map([...values].map(([key, value]) => [key, toFileKey(value)]));
  } catch (error) {
    signal.throwIfAborted();
    const failure = toFileKey(error as Error);
    return new Map([...keys].map((key) => [key, failure]));
  }
}

async function readValues(
  folder: string,
  path: string,
  keys: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, EnvFileValue>> {
  await using place = await openExistingBelow(folder, path.replace(/^\/+/, ''));
  if (place === undefined) throw new Error('no such file or directory');
  if (!place.facts.isFile()) throw new Error('is no file');
  await using handle = await open(pathOfHandle(place.handle), constants.O_RDONLY);
  return await findInEnvFile(await readEnvFile(handle, signal), keys, signal);
}

function tooMuch(): Error {
  return new Error(
    `variables from files come to more than ${MAX_EXPANDED} bytes; mount large values as files`,
  );
}
