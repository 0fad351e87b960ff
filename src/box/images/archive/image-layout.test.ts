import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { isRecord } from '#base/text/is-record.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { sha256Of } from './digest.js';
import { ImageStore } from '../image-store.js';

const NEVER = new AbortController().signal;
const GOOD = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: sha256Of('x'), size: 1 };
const LAYERS = [[{ name: 'etc/' }, { name: 'etc/motd', content: 'hello' }]];

describe('an image', () => {
  it.each([
    ['a digest of no known kind', { ...GOOD, digest: 'sha256:short' }],
    ['a digest that is a path', { ...GOOD, digest: 'sha256:../../../etc/passwd' }],
    ['a digest that is no text', { ...GOOD, digest: 7 }],
    ['a size below nothing', { ...GOOD, size: -1 }],
    ['a size that is no number', { ...GOOD, size: '1' }],
    ['nothing at all', {}],
    ['a text instead of a descriptor', 'x'],
    ['null instead of a descriptor', null],
  ])('is not hidden by an entry of its layout with %s', async (_what, entry) => {
    const named = isRecord(entry)
      ? { ...entry, annotations: { 'io.containerd.image.name': 'example.test/broken:1' } }
      : entry;
    const layout = new OciLayout();
    layout.addEntry(named as never);
    const { id, manifest } = layout.addImage({ names: ['example.test/good:1'], layers: LAYERS });
    const index = layout.addJson('application/vnd.oci.image.index.v1+json', {
      schemaVersion: 2,
      manifests: [entry, { ...manifest, platform: { os: 'linux', architecture: 'none' } }, manifest],
    });
    layout.addEntry({ ...index, annotations: { 'io.containerd.image.name': 'example.test/index:1' } });
    const imageDir = await mkdtemp(join(tmpdir(), 'podloop-layout-'));
    await writeFile(join(imageDir, 'a.tar'), layout.toTar());
    const options = { imageDirs: [imageDir], logger: SILENT_LOGGER, clock: new FakeClock() };
    const store = await ImageStore.open({ ...options, rootDir: join(imageDir, 'root') });
    try {
      expect((await store.pull('example.test/good:1', NEVER)).id).toBe(id);
      expect((await store.pull('example.test/index:1', NEVER)).id).toBe(id);
      await expect(store.pull('nobody', NEVER)).rejects.toThrow('not readable: a.tar: index.json');
      if (isRecord(entry))
        await expect(store.pull('example.test/broken:1', NEVER)).rejects.toThrow(/^[^(]*index\.json/);
    } finally {
      await store.close();
      await rm(imageDir, { recursive: true, force: true });
    }
  });
});
