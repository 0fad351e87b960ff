import { type ContainerRecord } from '../container/container-record.js';
import { type PodFolders } from './sandbox-folders.js';
import { type Sandbox } from './sandbox.js';

/** What an earlier runtime has left on the disk. */
export interface StoredPods {
  readonly sandboxes: readonly Sandbox[];
  /** Those that were never made whole: shown to nobody, and undone once it is known what else there is. */
  readonly half: readonly Sandbox[];
  /** Of containers, in the order of their creation. */
  readonly records: readonly ContainerRecord[];
  /** Of everything that has a folder, whether its record can be read or not. */
  readonly sandboxIds: readonly string[];
  readonly containerIds: readonly string[];
}

/** Reads the records of all pods. What cannot be read is left out, and left alone. */
export async function readPods(folders: PodFolders): Promise<StoredPods> {
  const { sandboxIds, containerIds } = await folders.list();
  const sandboxes: Sandbox[] = [];
  const half: Sandbox[] = [];
  for (const id of sandboxIds) {
    const sandbox = await folders.readSandbox(id);
    if (sandbox !== undefined) (sandbox.record.ready ? sandboxes : half).push(sandbox);
  }
  const records: ContainerRecord[] = [];
  for (const id of containerIds) {
    const record = await folders.readContainer(id);
    if (record !== undefined) records.push(record);
  }
  records.sort((a, b) => (a.createdAtNs < b.createdAtNs ? -1 : 1));
  return { sandboxes, half, records, sandboxIds, containerIds };
}
