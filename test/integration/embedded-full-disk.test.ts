/**
 * The embedded runtime on a disk without room. Needs root for the small file system; skipped elsewhere.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { EmbeddedNode, ISOLATIONS, until } from './embedded-node.js';

const run = promisify(execFile);

describe.skipIf(process.getuid?.() !== 0).each(ISOLATIONS)(
  'a full disk, isolation %s (needs root)',
  (isolation) => {
    it('keeps no runtime from starting, loses no exit code and lets pods be removed', async () => {
      await using node = await EmbeddedNode.prepare({ isolation, network: 'none' });
      await mkdir(node.root);
      await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'podloop-test', node.root]);
      try {
        await node.startInside();
        const script = `until [ -e ${node.folder}/go ]; do sleep 0.02; done; exit 7`;
        const id = await node.run(await node.runPod('p'), 'c', script);
        await node.runtime?.close();
        await fill(join(node.root, 'filler'));
        await run('touch', [join(node.folder, 'go')]);
        await node.startInside();
        expect(await node.exited(id)).toMatchObject({ exitCode: 7 });
        await until(
          () =>
            node.clear().then(
              () => true,
              () => false,
            ),
          (cleared) => cleared,
        );
        await rm(join(node.root, 'filler'));
        expect(await node.exited(await node.run(await node.runPod('q'), 'd', 'exit 3'))).toMatchObject({
          exitCode: 3,
        });
        await node.clear();
        await node.runtime?.close();
      } finally {
        await run('umount', ['-l', node.root]);
      }
    });
  },
);

/** Writes until there is no room for a byte more. */
async function fill(path: string): Promise<void> {
  await using file = await open(path, 'w');
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) await file.write(Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
