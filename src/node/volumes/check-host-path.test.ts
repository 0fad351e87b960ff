import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BoundedLooks } from './bounded-looks.js';
import { type AllowedHostPath } from '#kube/node/node-policy.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { checkHostPath } from './check-host-path.js';
import { HostPath } from './host-path.js';

let top: string;
let allowed: AllowedHostPath[];

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'podloop-host-'));
  await mkdir(join(top, 'open/data'), { recursive: true });
  await mkdir(join(top, 'closed'));
  allowed = [{ path: join(top, 'open'), readOnly: false }];
});
afterEach(() => rm(top, { recursive: true, force: true }));

const check = (path: string): Promise<void> => checkHostPath(join(top, path), allowed);

it.each(['open', 'open/data', 'open/data/not/there/yet'])('lets pods mount %s', async (path) => {
  await expect(check(path)).resolves.toBeUndefined();
});

it.each(['closed', 'openly', '.', 'open/../closed'])('does not let pods mount %s', async (path) => {
  await expect(checkHostPath(`${top}/${path}`, allowed)).rejects.toThrow('is not below a path of');
});

it.each(['', '/secret', '/made/later'])('follows no link out of an allowed path: %j', async (below) => {
  await writeFile(join(top, 'closed/secret'), '');
  await symlink('../closed', join(top, 'open/link'));
  await expect(check(`open/link${below}`)).rejects.toThrow(
    `hostPath ${top}/open/link${below} is not allowed: links lead to ${top}/closed${below}, which is not below`,
  );
});

it('follows links within an allowed path, and to where the allowed path itself leads', async () => {
  await symlink('data', join(top, 'open/link'));
  await expect(check('open/link/x')).resolves.toBeUndefined();
  await symlink('closed', join(top, 'entry'));
  allowed = [{ path: join(top, 'entry'), readOnly: false }];
  await expect(check('entry/x')).resolves.toBeUndefined();
});

it('makes nothing through a link, not even one to nowhere', async () => {
  await symlink('../closed/new', join(top, 'open/nowhere'));
  const kind = new HostPath({
    looks: new BoundedLooks({ clock: new FakeClock() }),
    checkPath: (path) => checkHostPath(path, allowed),
  });
  const setUp = (path: string): Promise<void> =>
    kind.setUp({
      pod: aNodePod(),
      volume: { name: 'v', hostPath: { path: join(top, path), type: 'FileOrCreate' } },
      folder: '',
    });
  await expect(setUp('open/nowhere')).rejects.toThrow('it is a link to nowhere');
  await expect(setUp('closed/new')).rejects.toThrow('is not below a path of --allowed-host-paths');
  await expect(rm(join(top, 'closed/new'))).rejects.toThrow('ENOENT');
  await setUp('open/new');
  await rm(join(top, 'open/new'));
});
