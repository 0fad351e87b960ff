import { type HostFiles } from '../facts/host-files.js';
import { type ContainerOwner } from './host-facts.js';
import { parseBundle, parseSandboxId } from './read-bundle.js';

/** The bundle of a container, or of a sandbox, which is in itself. */
export interface NotedBundle {
  readonly id: string;
  readonly sandboxId: string;
  readonly owner: ContainerOwner;
}

/**
 * What the bundles of CRI's containers say, for several examinations: what a bundle says stays the same as long as it is there,
 * and its name comes once, so each is read once.
 */
export class BundleBook {
  /** By the path of the bundle. */
  #noted: ReadonlyMap<string, NotedBundle> = new Map();

  /** The containers and sandboxes whose bundles are in these folders now. */
  async list(files: HostFiles, folders: ReadonlySet<string>): Promise<NotedBundle[]> {
    const there = new Map<string, NotedBundle>();
    for (const folder of folders) {
      for (const id of await files.list(folder).catch(() => [])) {
        const path = `${folder}/${id}`;
        const bundle = this.#noted.get(path) ?? (await readNoted(files, path, id));
        if (bundle !== undefined) there.set(path, bundle);
      }
    }
    this.#noted = there;
    return [...there.values()];
  }
}

/** Undefined for one that is not whole yet, and for one of somebody else. */
async function readNoted(files: HostFiles, path: string, id: string): Promise<NotedBundle | undefined> {
  const text = await files.find(`${path}/config.json`);
  const sandboxId = text === undefined ? undefined : parseSandboxId(text);
  return sandboxId === undefined ? undefined : { id, sandboxId, owner: parseBundle(text!) };
}
