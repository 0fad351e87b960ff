import { mkdir, mkdtemp, open, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { emptyPodStatus, type ObservedPod, type PodStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { PodFolderCollector } from './pod-folder-collector.js';

const never = new AbortController().signal;
let folder: string;
let paths: PodPaths;
let linksDir: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-folders-'));
  paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
  linksDir = join(folder, 'containers');
  await mkdir(linksDir, { recursive: true });
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Makes what an agent makes for a pod; without `ours` what another agent does. */
async function make(name: string, ours = true): Promise<void> {
  const ref = { namespace: 'default', name, uid: `uid-${name}` };
  if (ours) await mkdir(paths.containerDir(ref.uid, 'main'), { recursive: true });
  await mkdir(paths.containerLogDir(ref, 'main'), { recursive: true });
  await writeFile(paths.containerLogFile(ref, 'main', 0), 'log');
  await symlink(paths.containerLogFile(ref, 'main', 0), join(linksDir, `${name}_default_main-${name}1.log`));
}

interface World {
  statuses?: PodStatus[];
  failing?: string[];
  inRuntime?: ObservedPod[];
  mounts?: string;
  tearDown?: (uid: string) => Promise<void>;
  findPod?: () => Promise<undefined>;
}

function lab({ statuses = [], failing = [], inRuntime = [], mounts = '', tearDown, findPod }: World = {}) {
  const asked: string[] = [];
  const errors: string[] = [];
  const clock = new FakeClock();
  const collector = new PodFolderCollector({
    clock,
    paths,
    pods: {
      uids: () => statuses.map(({ uid }) => uid),
      get: (uid) => ({
        status: statuses.find((status) => status.uid === uid) ?? emptyPodStatus(uid),
        error: failing.includes(uid) ? new Error('hung') : undefined,
      }),
    },
    runtime: {
      findPod: async (uid) => {
        asked.push(uid);
        if (findPod !== undefined) return findPod();
        return inRuntime.find((pod) => pod.uid === uid);
      },
    },
    tearDownVolumes: tearDown ?? (async () => undefined),
    containerLogLinksDir: linksDir,
    readMounts: async () => mounts,
    logger: {
      info: () => undefined,
      warn: () => undefined,
      error: (message, error) => void errors.push(`${message}: ${String(error)}`),
      enabled: () => true,
    },
  });
  const cleanUp = (...gone: string[]): Promise<'more' | undefined> =>
    collector.cleanUp({ mayRemove: (uid) => gone.includes(uid) }, never);
  return { clock, collector, cleanUp, asked, errors };
}

/** The pods that still have a folder, logs and a link. */
async function left(): Promise<{ folders: string[]; logs: string[]; links: string[] }> {
  return {
    folders: (await readdir(paths.podsDir)).sort(),
    logs: (await readdir(paths.podLogsDir)).sort(),
    links: (await readdir(linksDir)).map((name) => name.split('_')[0]!).sort(),
  };
}

/** Folders in folders, deeper than a path can name. */
async function makeDeep(path: string): Promise<void> {
  let folder = await open(path);
  for (let depth = 0; depth < 30; depth++) {
    const below = `${pathOfHandle(folder)}/${'d'.repeat(200)}`;
    await mkdir(below);
    const next = await open(below);
    await folder.close();
    folder = next;
  }
  await folder.close();
}

describe('the folders of a pod', () => {
  it('go although they are deeper than a path can name, and those of others with them', async () => {
    await make('deep');
    await make('old');
    await makeDeep(join(paths.podLogsDir, 'default_deep_uid-deep', 'main'));
    const { cleanUp, errors } = lab();
    expect(await cleanUp('uid-deep', 'uid-old')).toBeUndefined();
    expect(await left()).toEqual({ folders: [], logs: [], links: [] });
    expect(errors).toEqual([]);
  });

  it('go with its logs and links once it is gone', async () => {
    await make('web');
    await make('old');
    const { cleanUp, asked } = lab();
    await cleanUp('uid-old');
    expect(await left()).toEqual({ folders: ['uid-web'], logs: ['default_web_uid-web'], links: ['web'] });
    expect(asked).toEqual(['uid-old']);
  });

  it('of another agent are not touched, whoever may remove them', async () => {
    await make('foreign', false);
    await make('old');
    await lab().cleanUp('uid-old', 'uid-foreign');
    expect(await left()).toEqual({ folders: [], logs: ['default_foreign_uid-foreign'], links: ['foreign'] });
  });

  it.each([
    ['the runtime still has something of it', { inRuntime: [aPod({ name: 'old' })] }],
    ['the cache still shows something of it', { statuses: [aPodStatus(aPod({ name: 'old' }))] }],
    ['its status cannot be read', { failing: ['uid-old'] }],
    ['the runtime does not answer', { findPod: () => Promise.reject(new Error('hung')) }],
    ['its volumes are in use', { tearDown: () => Promise.reject(new Error('in use')) }],
  ])('stay while %s', async (_, world) => {
    await make('old');
    await lab(world).cleanUp('uid-old');
    expect((await left()).folders).toEqual(['uid-old']);
  });

  it('stay while something is mounted below, which is said once', async () => {
    await make('old');
    const place = join(paths.podDir('uid-old'), 'a b').replaceAll(' ', '\\040');
    const { cleanUp, errors } = lab({ mounts: `36 35 98:0 / ${place} rw - ext4 /dev/root rw\n` });
    await cleanUp('uid-old');
    await cleanUp('uid-old');
    expect((await left()).folders).toEqual(['uid-old']);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(`${join(paths.podDir('uid-old'), 'a b')} is still mounted`);
  });

  it('stay when the pod is wanted again in the last moment', async () => {
    await make('old');
    let wanted = false;
    const { collector } = lab({
      tearDown: async () => {
        wanted = true;
      },
    });
    await collector.cleanUp({ mayRemove: () => !wanted }, never);
    expect(await left()).toEqual({ folders: ['uid-old'], logs: ['default_old_uid-old'], links: ['old'] });
  });

  it('are known to be going from the last question on until they are gone', async () => {
    await make('old');
    const { collector } = lab();
    const going: boolean[] = [];
    const view = {
      mayRemove: (uid: string) => {
        queueMicrotask(() => going.push(collector.isRemoving(uid)));
        return true;
      },
    };
    await collector.cleanUp(view, never);
    expect([going[0], going.at(-1), collector.isRemoving('uid-old')]).toEqual([false, true, false]);
    expect((await left()).folders).toEqual([]);
  });

  it('and the volumes stay when the pod is wanted again while the runtime is asked', async () => {
    await make('old');
    let wanted = false;
    const tornDown: string[] = [];
    const { collector } = lab({
      findPod: async () => {
        wanted = true;
        return undefined;
      },
      tearDown: async (uid) => void tornDown.push(uid),
    });
    await collector.cleanUp({ mayRemove: () => !wanted }, never);
    expect(tornDown).toEqual([]);
    expect(await left()).toEqual({ folders: ['uid-old'], logs: ['default_old_uid-old'], links: ['old'] });
  });

  it('that another run was about to remove are removed', async () => {
    await mkdir(join(paths.podsDir, '.podloop-gone-uid-x', 'containers'), { recursive: true });
    await mkdir(join(paths.podLogsDir, '.podloop-gone-default_x_uid-x'), { recursive: true });
    await lab().cleanUp();
    expect(await left()).toEqual({ folders: [], logs: [], links: [] });
  });

  it('need not be there', async () => {
    await expect(lab().cleanUp('uid-old')).resolves.toBeUndefined();
  });
});

describe('links to logs', () => {
  const container = (state: 'running' | 'exited') => {
    const logPath = paths.containerLogFile({ namespace: 'default', name: 'web', uid: 'uid-web' }, 'main', 0);
    const observed = aContainer({ id: 'web1', state });
    return aPodStatus(aPod(), { containers: [aContainerStatus(observed, { logPath })] });
  };
  const removeLog = async (name: string): Promise<void> => {
    await rm(paths.containerLogFile({ namespace: 'default', name, uid: `uid-${name}` }, 'main', 0));
  };

  it.each([
    ['that lead nowhere go', [], []],
    ['stay while the container runs, as its log may be rotated just now', ['running'], ['web']],
    ['go once it has ended', ['exited'], []],
  ] as const)('%s', async (_, states, links) => {
    await make('web');
    await removeLog('web');
    await lab({ statuses: states.map(container) }).cleanUp();
    expect((await left()).links).toEqual(links);
  });

  it('are looked at once a minute', async () => {
    await make('web');
    const { clock, cleanUp } = lab();
    await cleanUp();
    await removeLog('web');
    await clock.advance(59_000);
    await cleanUp();
    expect((await left()).links).toEqual(['web']);
    await clock.advance(2_000);
    await cleanUp();
    expect((await left()).links).toEqual([]);
  });

  it('of others stay, wherever they lead', async () => {
    await make('web');
    await make('foreign', false);
    await removeLog('foreign');
    await symlink('/nowhere/at/all.log', join(linksDir, 'odd_default_main-x.log'));
    await lab().cleanUp();
    expect((await left()).links).toEqual(['foreign', 'odd', 'web']);
    expect(basename(await readlink(join(linksDir, 'web_default_main-web1.log')))).toBe('0.log');
  });
});
