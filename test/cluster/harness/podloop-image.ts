import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { packPrograms } from '../../containerd/harness/image.js';

const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const HOME = 'usr/lib/podloop';
/** What `npm ls` names besides is in the bundle. */
const RELEASE = new URL('../../../scripts/release/debian-package.mjs', import.meta.url).href;

/** An image of the built program and this machine's Node.js on top of busybox, as an archive that `ctr images import` takes. */
export async function packPodloopImage(name: string, busybox: string): Promise<Buffer> {
  const root = await mkdtemp(path.join(tmpdir(), 'podloop-image-'));
  try {
    const { findRuntimePackages } = (await import(RELEASE)) as {
      findRuntimePackages: (repository: string) => string[];
    };
    const copy = async (from: string, to: string): Promise<void> => {
      await mkdir(path.dirname(path.join(root, to)), { recursive: true });
      await cp(from, path.join(root, to), { recursive: true, dereference: true });
    };
    await copy(path.join(REPOSITORY, 'dist/program'), `${HOME}/dist/program`);
    await copy(path.join(REPOSITORY, 'package.json'), `${HOME}/package.json`);
    for (const folder of findRuntimePackages(REPOSITORY.replace(/\/$/, '')))
      await copy(folder, path.join(HOME, path.relative(REPOSITORY, folder)));
    // With what podloop takes of a machine: busybox has no flock everywhere.
    const { stdout: flock } = await run('sh', ['-c', 'command -v flock']);
    for (const [name, program] of [
      ['node', process.execPath],
      ['flock', flock.trim()],
    ] as const) {
      await copy(program, `usr/bin/${name}`);
      const { stdout } = await run('ldd', [program]);
      for (const [, library = ''] of stdout.matchAll(/(\/\S+) \(0x/g)) await copy(library, library);
    }
    const script = `#!/bin/sh\nexec /usr/bin/node /${HOME}/dist/program/podloop.js "$@"\n`;
    await writeFile(path.join(root, 'usr/bin/podloop'), script, { mode: 0o755 });
    const options = { encoding: 'buffer', maxBuffer: 2 ** 30 } as const;
    const { stdout: layer } = await run('tar', ['-c', '--owner=0', '--group=0', '-C', root, '.'], options);
    const layout = new OciLayout();
    const config = { Env: ['PATH=/usr/bin:/bin'], Entrypoint: ['podloop'] };
    layout.addImage({ names: [name], layers: [await packPrograms(busybox), layer], config });
    return layout.toTar();
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
