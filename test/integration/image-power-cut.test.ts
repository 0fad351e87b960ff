/** The power goes right after a pull was confirmed: on a disk of its own, which then forgets all that it had not written. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { SystemClock } from '#base/time/clock.js';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { ImageStore } from '../../src/box/images/image-store.js';
import { canMakeDisks, makeDisk, mountDisk } from './loop-disk.js';

const NEVER = new AbortController().signal;
const run = promisify(execFile);
const DISK_BYTES = 256 * 1024 * 1024;
const FILES = Array.from({ length: 200 }, (_, at) => ({ name: `f${at}`, content: randomBytes(20_000) }));
/** What the kernel calls EXT4_IOC_SHUTDOWN, with EXT4_GOING_FLAGS_NOLOGFLUSH: nothing more gets to the disk. */
const CUT =
  'open my $f, "<", $ARGV[0] or die $!; my $how = pack "L", 2; ioctl $f, 0x8004587d, $how or die $!';
let folder: string;
let disk: string;
let registry: FakeRegistry;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-power-cut-'));
  disk = join(folder, 'disk');
  registry = await FakeRegistry.start();
});

afterEach(async () => {
  await run('umount', [disk]).catch(() => undefined);
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function openStore(bootId: string): Promise<ImageStore> {
  return ImageStore.open({
    ...{ rootDir: join(disk, 'root'), imageDirs: [join(folder, 'layouts')], logger: SILENT_LOGGER, bootId },
    ...{ clock: new SystemClock(), registry: { configFolders: [], environment: { HOME: folder } } },
  });
}

describe.skipIf(!(await canMakeDisks()))('a pull that was confirmed (needs root and mkfs.ext4)', () => {
  beforeEach(async () => {
    await mkdir(disk);
    await mkdir(join(folder, 'layouts'));
    await makeDisk(join(folder, 'disk.raw'), DISK_BYTES);
    await mountDisk(join(folder, 'disk.raw'), disk);
  });

  it.each(['a registry', 'an archive', 'a folder'])('survives a loss of power: %s', async (from) => {
    const layers = [FILES.slice(0, 100), FILES.slice(100)];
    const image = from === 'a registry' ? `${registry.host}/app:1` : 'example.test/app:1';
    const layout = new OciLayout();
    layout.addImage({ names: [image], layers });
    if (from === 'a folder') await writeFile(join(folder, 'layouts', 'app.tar'), layout.toTar());
    registry.tag('app:1', registry.layout.addManifest({ layers }).manifest);
    const before = await openStore('one boot');
    if (from === 'an archive') await before.load(only(layout.toTar()), NEVER);
    else await before.pull(image, NEVER);
    await run('perl', ['-e', CUT, join(disk, 'root')]);
    // On a disk that is gone.
    await before.close().catch(() => undefined);
    await run('umount', [disk]);
    // A container of another test may have a copy of all mounts, and with it the file system that is shut down: to mount
    // the same disk again would show that one. What was written is on a copy of the disk as well.
    const copy = join(folder, 'copy.raw');
    await run('cp', ['--sparse=always', join(folder, 'disk.raw'), copy]);
    await mountDisk(copy, disk);
    await rm(join(folder, 'layouts', 'app.tar'), { force: true });
    await registry[Symbol.asyncDispose]();
    const after = await openStore('the next boot');
    try {
      const { id } = after.get(image);
      const root = await after.prepareRoot({ imageId: id, containerId: 'c', isolated: false, signal: NEVER });
      if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
      for (const { name, content } of FILES)
        expect((await readFile(join(root.path, name))).equals(content), name).toBe(true);
    } finally {
      await after.close();
    }
  });
});

async function* only(content: Buffer): AsyncGenerator<Buffer> {
  await Promise.resolve();
  yield content;
}
