import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImageAccess } from '../images/image-access.js';
import { type PullCredential, type ObjectId } from '../images/pull-logins.js';
import { keyOf } from '../images/pull-record-files.js';
import { type PullRecords } from '../images/pull-records.js';
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { FakeClock } from '#testing/fake-clock.js';
import { KubeletPullsFolder } from '#support/fakes/kubelet-pulls-folder.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { openPullRecords } from './open-pull-records.js';

const APP = 'r.test/team/app:1';
const SECRET: ObjectId = { uid: 'u1', namespace: 'team', name: 'pull' };
const OTHERS_SECRET: ObjectId = { uid: 'u2', namespace: 'other', name: 'pull' };
const PAUSE = anImage('sha256:pause', 'r.test/pause:3');

let rootDir: string;
let kubelet: KubeletPullsFolder;
let clock: FakeClock;
let log: LogRecorder;
let records: PullRecords;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'podloop-adopted-pulls-'));
  kubelet = new KubeletPullsFolder(rootDir);
  clock = new FakeClock();
  log = new LogRecorder();
});
afterEach(async () => {
  await rm(rootDir, { recursive: true, force: true });
});

function anImage(id: string, ...tags: string[]): RuntimeImage {
  return { id, tags, digests: [], sizeBytes: 1n, pinned: false, uid: undefined, username: '' };
}

async function start({ adopt = true, runtimeUrl = 'unix:///run/a.sock' } = {}): Promise<void> {
  log.lines.length = 0;
  records = await openPullRecords({ options: { rootDir, adopt }, runtimeUrl, clock, logger: log });
}

/** Whether a pod with that Secret may use an image that is there. */
async function mayUse(image: RuntimeImage, secret?: ObjectId, name = APP): Promise<boolean> {
  const rules = { policy: 'NeverVerifyPreloadedImages', allowlist: [] } as const;
  const credentials: PullCredential[] =
    secret === undefined ? [] : [{ login: { username: 'me', password: 'secret' }, secret }];
  return new ImageAccess({ records, rules }).mayUse(image, name, () => Promise.resolve(credentials));
}

async function lookTwice(...images: RuntimeImage[]): Promise<void> {
  for (let looks = 0; looks < 2; looks++) {
    await clock.advance(5 * 60_000);
    await records.keepOnly([PAUSE, ...images], clock.monotonicMs());
  }
}

describe('images that a kubelet has pulled, once its node is taken over', () => {
  const image = anImage('sha256:a', APP);

  beforeEach(async () => {
    await kubelet.addPulled('sha256:a', {
      'r.test/team/app': { kubernetesSecrets: [{ ...SECRET, credentialHash: 'theirs' }] },
    });
  });

  it.each([false, true])(
    'are there for whom the kubelet had them (agent restarted: %s)',
    async (isRestarted) => {
      await kubelet.addPulled('sha256:b', { 'r.test/public': { nodePodsAccessible: true } });
      await start();
      expect(log.lines).toMatchObject([{ level: 'info', fields: { pulled: 2, begun: 0 } }]);
      if (isRestarted) await start({ adopt: false });
      expect([await mayUse(image, SECRET), await mayUse(image, OTHERS_SECRET), await mayUse(image)]).toEqual([
        true,
        false,
        false,
      ]);
      expect(await mayUse(anImage('sha256:b', 'r.test/public:1'), undefined, 'r.test/public:1')).toBe(true);
      // What nobody has a record of was there before.
      expect(await mayUse(anImage('sha256:c', 'r.test/loaded:1'), undefined, 'r.test/loaded:1')).toBe(true);
      expect(log.complaints).toEqual([]);
    },
  );

  it('are what they are where they are not taken over', async () => {
    await start({ adopt: false });
    expect(await mayUse(image)).toBe(true);
    expect(await readdir(rootDir)).toEqual(['image_manager']);
  });

  it('are known by a digest, where the runtime gave that for a reference', async () => {
    const reference = `r.test/team/crio@sha256:${'b'.repeat(64)}`;
    await kubelet.addPulled(reference, { 'r.test/team/crio': { kubernetesSecrets: [SECRET] } });
    await start();
    const crio = { ...anImage('sha256:b'), digests: [reference] };
    await lookTwice(image, crio);
    expect([await mayUse(crio, SECRET, reference), await mayUse(crio, undefined, reference)]).toEqual([
      true,
      false,
    ]);
    await lookTwice(image);
    expect(records.counts.pulled).toBe(1);
  });

  it('leave the kubelet’s files as they are', async () => {
    await kubelet.addBegun('r.test/begun:1');
    const look = async (): Promise<unknown> => {
      const names = (await readdir(kubelet.path, { recursive: true })).sort();
      const texts = names.map(async (name) => {
        const path = join(kubelet.path, name);
        const { mtimeMs, mode } = await stat(path);
        return [name, mtimeMs, mode, await readFile(path, 'utf8').catch(() => '')];
      });
      return Promise.all(texts);
    };
    const before = await look();
    await start();
    await lookTwice(image);
    await start();
    expect(await look()).toEqual(before);
  });

  it('are forgotten when they are gone, and no restart brings that back', async () => {
    await start();
    await lookTwice();
    await start();
    expect([await mayUse(image), records.counts.pulled, log.lines]).toEqual([true, 0, []]);
    // What was for everybody once is not, after others have pulled it with a login.
    await kubelet.addPulled('sha256:b', { 'r.test/team/app': { nodePodsAccessible: true } });
    await start();
    await clock.advance(1);
    await records.forget('sha256:b', clock.monotonicMs());
    await records.record('sha256:b', APP, { hash: 'h' });
    await start();
    expect(await mayUse(anImage('sha256:b', APP))).toBe(false);
  });

  it('do not come back, either, when their file cannot be read for a while', async () => {
    const path = await kubelet.addPulled('sha256:b', { 'r.test/team/app': { nodePodsAccessible: true } });
    await start();
    await clock.advance(1);
    await records.forget('sha256:b', clock.monotonicMs());
    await records.record('sha256:b', APP, { hash: 'h' });
    await rename(path, `${path}.before`);
    await mkdir(path);
    await start();
    expect(log.complaints).toMatchObject([{ fields: { path } }]);
    await rm(path, { recursive: true });
    await rename(`${path}.before`, path);
    await start();
    expect([await mayUse(anImage('sha256:b', APP)), log.lines]).toEqual([false, []]);
  });

  it('are taken over again once a kubelet was here again', async () => {
    await start();
    await kubelet.addPulled('sha256:a', {
      'r.test/team/app': { kubernetesSecrets: [SECRET, OTHERS_SECRET] },
    });
    await start();
    expect([await mayUse(image, SECRET), await mayUse(image, OTHERS_SECRET), await mayUse(image)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('are for nobody of whom nobody knows, where a record cannot be read, and it says so once', async () => {
    const path = await kubelet.write('pulled', 'sha256:a', '');
    await start();
    expect(log.complaints).toMatchObject([{ level: 'error', fields: { path } }]);
    await start();
    expect(log.complaints).toEqual([]);
    await start({ adopt: false });
    expect(log.complaints).toEqual([]);
    expect([await mayUse(image, SECRET), await mayUse(image)]).toEqual([false, false]);
    // Whoever pulls it may use it.
    await records.record('sha256:a', APP, { hash: 'h', secret: SECRET });
    expect([await mayUse(image, SECRET), await mayUse(image)]).toEqual([true, false]);
  });

  it('are taken over again where that could not be written', async () => {
    await mkdir(join(rootDir, 'image-pulls'));
    await writeFile(join(rootDir, 'image-pulls', 'pulled'), 'a file');
    await start();
    expect([await mayUse(image, SECRET), await mayUse(image)]).toEqual([true, false]);
    await rm(join(rootDir, 'image-pulls', 'pulled'));
    await start();
    await start({ adopt: false });
    expect([await mayUse(image, SECRET), await mayUse(image)]).toEqual([true, false]);
  });

  it.each(['{', 'null', '{"format":1}'])(
    'are taken over again where it cannot be read what was, and it says so: %s',
    async (text) => {
      await start();
      const path = join(rootDir, 'image-pulls', 'kubelet.json');
      await writeFile(path, text);
      await start();
      expect(log.complaints).toMatchObject([{ fields: { path } }]);
      expect([await mayUse(image, SECRET), await mayUse(image)]).toEqual([true, false]);
      await start();
      expect(log.lines).toEqual([]);
    },
  );
});

describe('a pull that the kubelet did not see end', () => {
  const image = anImage('sha256:a', 'docker.io/library/app:latest');

  it.each([false, true])('lets nobody in who cannot pull (agent restarted: %s)', async (isRestarted) => {
    await kubelet.addBegun('app:latest');
    await start();
    if (isRestarted) await start({ adopt: false });
    expect(await mayUse(image, SECRET, 'app')).toBe(false);
    await lookTwice(image);
    expect([records.counts, await mayUse(image, SECRET, 'app')]).toEqual([{ pulled: 1, begun: 0 }, false]);
    await start();
    expect([records.counts.begun, await mayUse(anImage('sha256:b', 'app:2'), undefined, 'app:2')]).toEqual([
      0,
      true,
    ]);
  });

  it('counts once more when the kubelet has begun it once more', async () => {
    const path = await kubelet.addBegun('app:latest');
    await start();
    await lookTwice();
    expect(records.counts.begun).toBe(0);
    await utimes(path, 2_000, 2_000);
    await start();
    expect(await mayUse(image, SECRET, 'app')).toBe(false);
  });

  it.each([false, true])(
    'may be any where its file cannot be read: what is there is for who can pull it (agent restarted: %s)',
    async (isRestarted) => {
      const path = await kubelet.write('pulling', 'app:latest', '{');
      await start();
      expect(log.complaints).toMatchObject([{ fields: { path } }]);
      if (isRestarted) await start({ adopt: false });
      const late = anImage('sha256:late', 'r.test/late:1');
      expect([await mayUse(image, SECRET, 'app'), await mayUse(late, undefined, 'r.test/late:1')]).toEqual([
        false,
        false,
      ]);
      await lookTwice(image);
      expect(records.counts).toEqual({ pulled: 2, begun: 0 });
      await start();
      expect(log.complaints).toEqual([]);
      // What comes later is not of the kubelet.
      expect([await mayUse(image, SECRET, 'app'), await mayUse(late, undefined, 'r.test/late:1')]).toEqual([
        false,
        true,
      ]);
    },
  );

  it('may be any as well where a folder of the kubelet cannot be read', async () => {
    await mkdir(kubelet.path);
    await writeFile(join(kubelet.path, 'pulled'), 'a file');
    await start();
    expect(log.complaints).toMatchObject([{ fields: { path: join(kubelet.path, 'pulled') } }]);
    expect(await mayUse(image, SECRET, 'app')).toBe(false);
  });
});

it('takes a runtime for the same by whichever link its socket is called', async () => {
  await mkdir(join(rootDir, 'run'));
  await writeFile(join(rootDir, 'run', 'a.sock'), '');
  await symlink('run', join(rootDir, 'var-run'));
  await start({ runtimeUrl: `unix://${join(rootDir, 'run', 'a.sock')}` });
  await records.record('sha256:a', APP, undefined);
  await start({ runtimeUrl: `unix://${join(rootDir, 'var-run', 'a.sock')}` });
  await lookTwice();
  expect(await readdir(join(rootDir, 'image-pulls', 'pulled'))).toEqual([]);
  // Another socket is another runtime.
  await records.record('sha256:a', APP, undefined);
  await start();
  await lookTwice();
  expect(await readdir(join(rootDir, 'image-pulls', 'pulled'))).toEqual([`${keyOf('sha256:a')}.json`]);
});
