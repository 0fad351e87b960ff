import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { OciLayout } from '#support/fakes/oci-layout.js';
import { packTar, type TarMember } from '#support/builders/pack-tar.js';
import { USER_IMAGES } from '../../integration/program-image.js';

/** What the tests' containers run: every applet of busybox, a shell as the default command. */
export const BUSYBOX_IMAGE = 'podloop.test/busybox:1';
/** The name under which the pods of test/stories ask for the same. */
const STORY_IMAGE = 'podloop.test/programs:1';
/** The sandboxes' image: sleeps. */
export const PAUSE_IMAGE = 'podloop.test/pause:1';

/**
 * A tar of an OCI image layout with {@link BUSYBOX_IMAGE} and {@link PAUSE_IMAGE} in it, made from the machine's
 * static busybox, as `ctr images import` takes it. No registry is asked.
 */
export async function packImages(busybox: string): Promise<Buffer> {
  const layers = [await packPrograms(busybox)];
  const layout = new OciLayout();
  const config = { Env: ['PATH=/bin'], Cmd: ['/bin/sh'] };
  layout.addImage({ names: [BUSYBOX_IMAGE, STORY_IMAGE], layers, config });
  for (const [name, User] of USER_IMAGES)
    layout.addImage({ names: [name], layers, config: { ...config, User } });
  const sleeping = { Entrypoint: ['/bin/busybox', 'sleep', '1000000'] };
  layout.addImage({ names: [PAUSE_IMAGE], layers, config: sleeping });
  return layout.toTar();
}

/** A tar of the root that {@link BUSYBOX_IMAGE} has: one layer. */
export async function packPrograms(busybox: string): Promise<Buffer> {
  const { stdout } = await promisify(execFile)(busybox, ['--list']);
  return packTar(rootFolder(await readFile(busybox), stdout.trim().split('\n')));
}

function rootFolder(busybox: Buffer, applets: readonly string[]): TarMember[] {
  return [
    ...['bin/', 'dev/', 'etc/', 'proc/', 'sys/', 'root/'].map((name) => ({ name })),
    { name: 'tmp/', mode: 0o1777 },
    {
      name: 'etc/passwd',
      mode: 0o644,
      content: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n',
    },
    { name: 'etc/group', mode: 0o644, content: 'root:x:0:\nnogroup:x:65534:\n' },
    { name: 'bin/busybox', content: busybox },
    { name: 'bin/serve', content: '#!/bin/sh\nexec httpd -f -h /www -p "$1"\n' },
    { name: 'www/' },
    { name: 'www/index.html', mode: 0o644, content: 'ok\n' },
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet) => ({ name: `bin/${applet}`, linkTo: 'busybox' })),
  ];
}
