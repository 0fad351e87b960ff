import { type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type HostPathType, type HostPathVolume } from '#kube/pod/volume.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';

interface Expectation {
  /** The kubelet's words for the message. */
  readonly words: string;
  readonly holds: (facts: Stats) => boolean;
}

const EXPECTED: Readonly<Record<Exclude<HostPathType, ''>, Expectation>> = {
  DirectoryOrCreate: { words: 'a directory', holds: (facts) => facts.isDirectory() },
  Directory: { words: 'a directory', holds: (facts) => facts.isDirectory() },
  FileOrCreate: { words: 'a file', holds: (facts) => facts.isFile() },
  File: { words: 'a file', holds: (facts) => facts.isFile() },
  Socket: { words: 'a socket file', holds: (facts) => facts.isSocket() },
  CharDevice: { words: 'a character device', holds: (facts) => facts.isCharacterDevice() },
  BlockDevice: { words: 'a block device', holds: (facts) => facts.isBlockDevice() },
};

/**
 * Makes sure that a host path is what its type says; creates folders with mode 0755 and files with 0644 if it
 * says so.
 *
 * Rejects in the kubelet's words otherwise. Without a type nothing is checked.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#hostpath
 */
export async function prepareHostPath({ path, type = '' }: HostPathVolume): Promise<void> {
  if (type === '') return;
  if (type === 'DirectoryOrCreate' && (await findStats(path)) === undefined) {
    await makeFolder(path, 0o755);
  }
  if (type === 'FileOrCreate' && (await findStats(path)) === undefined) {
    await (await open(path, 'a', 0o644)).close();
  }
  assertHostPathType({ path, type }, await findStats(path));
}

/** Throws in the kubelet's words unless the facts, undefined for what is missing, are what the type says. Pure. */
export function assertHostPathType({ path, type = '' }: HostPathVolume, facts: Stats | undefined): void {
  if (type === '') return;
  const { words, holds } = EXPECTED[type];
  if (facts === undefined || !holds(facts)) {
    throw new Error(`hostPath type check failed: ${path} is not ${words}`);
  }
}

async function findStats(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error))) return undefined;
    throw error;
  }
}
