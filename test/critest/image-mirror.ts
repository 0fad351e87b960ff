import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { type BlobRef } from '#support/fakes/oci-layout.js';

interface Index {
  readonly manifests: readonly (BlobRef & { readonly annotations: Readonly<Record<string, string>> })[];
}

/**
 * Serves the images of a layout on the disk over plain http, whatever registry they are of, and names itself as the
 * mirror of all registries in the folder: as `_default/hosts.toml`, in containerd's layout.
 */
export async function startImageMirror(layoutDir: string, configDir: string): Promise<FakeRegistry> {
  const mirror = await FakeRegistry.start();
  const at = (digest: string): string => path.join(layoutDir, 'blobs', digest.replace(':', '/'));
  const read = async <T>(file: string): Promise<T> => JSON.parse(await readFile(file, 'utf8')) as T;
  const { manifests } = await read<Index>(path.join(layoutDir, 'index.json'));
  for (const { annotations, ...target } of manifests) {
    const { config, layers } = await read<{ config: BlobRef; layers: BlobRef[] }>(at(target.digest));
    for (const { mediaType, digest } of [target, config, ...layers])
      mirror.layout.addBlob(mediaType, await readFile(at(digest)));
    const name = annotations['io.containerd.image.name'] ?? '';
    mirror.tag(name.slice(name.indexOf('/') + 1), target);
  }
  await mkdir(path.join(configDir, '_default'), { recursive: true });
  const hosts = `[host."${mirror.url}"]\ncapabilities = ["pull", "resolve"]\n`;
  await writeFile(path.join(configDir, '_default', 'hosts.toml'), hosts);
  return mirror;
}
