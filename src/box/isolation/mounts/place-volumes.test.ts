import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeVolumes } from './place-volumes.js';
import { type Volume } from './container-volumes.js';

const volumeAt = (target: string): Volume => ({
  ...{ source: '/v', target, folder: true, readonly: false, propagation: 'rprivate', restrictions: [] },
  ...{ plainDevice: false, readonlyBelow: false },
});

describe('a volume', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'podloop-place-volumes-'));
  });
  afterAll(async () => rm(root, { recursive: true, force: true }));

  const place = async (...targets: string[]): Promise<readonly string[]> =>
    (await placeVolumes(targets.map(volumeAt), [root])).map(({ target }) => target);

  it.each([
    ['/dev/fd', 'fd'],
    ['/dev/fd/7', 'fd'],
    ['/dev/./stdin', 'stdin'],
    ['/dev/stderr/x/y', 'stderr'],
    ['/dev/ptmx', 'ptmx'],
  ])('cannot be mounted at %s, which a link of the runtime’s own leads away from', async (target, link) => {
    await expect(place(target)).rejects.toThrow(
      `cannot be mounted, as /dev/${link} is a link in every container`,
    );
  });

  it('can where another volume hides that link, or beside it', async () => {
    expect(await place('/dev/fd/7', '/dev')).toEqual(['/dev', '/dev/fd/7']);
    expect(await place('/dev/fdx', '/dev/sub/fd')).toEqual(['/dev/fdx', '/dev/sub/fd']);
  });
});
