import { type HostFiles } from '../facts/host-files.js';
import { type ContainerOwner } from './host-facts.js';
import { parseBundle, parseSandboxId } from './read-bundle.js';

/** The bundle of a container, or of a sandbox, which is in itself. */
export interface KnownBundle {
  readonly id: string;
  readonly sandboxId: string;
  readonly owner: ContainerOwner;
}

/**
 * What the bundles of CRI's containers say, for several examinations: what a bundle says stays the same as long as it is there,
 * and its name comes once, so each is read once.
 */
export class BundleCache {
  /** By the path of the bundle. */
  #known: ReadonlyMap<string, KnownBundle> = new Map();

  /** The containers and sandboxes whose bundles are in these folders now. */
  async list(files: HostFiles, folders: ReadonlySet<string>): Promise<KnownBundle[]> {
    const there = new Map<string, KnownBundle>();
    for (const folder of folders) {
      for (const id of await files.list(folder).catch(() => [])) {
        const path = `${folder}/${id}`;
        const bundle = this.#known.get(path) ?? (await readKnown(files, path, id));
        if (bundle !== undefined) there.set(path, bundle);
      }
    }
    this.#known = there;
    return [...there.values()];
  }
}

/** Undefined for one that is not whole yet, and for one of somebody else. */
async function readKnown(files: HostFiles, path: string, id: string): Promise<KnownBundle | undefined> {
  const text = await files.find(`${path}/config.json`);
  const sandboxId = text === undefined ? undefined : parseSandboxId(text);
  return sandboxId === undefined ? undefined : { id, sandboxId, owner: parseBundle(text!) };
}
