import { type Stats } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aNode } from '#support/builders/node-facts-builder.js';
import { SystemClock } from '#base/time/clock.js';
import { exitCodeOf } from './diagnose.js';
import { MachineExaminer } from './examine-machine.js';
import { type ListedNode } from './facts/event-witness.js';
import { HostFiles, SilentFilesError } from './facts/host-files.js';
import { type MachineFacts } from './facts/machine-facts.js';
import { notKnown } from './looked.js';
import { listUnseen } from './unseen.js';

const SOCKET = '/run/containerd/containerd.sock';
const SANDBOX = 'b'.repeat(64);
const WEB = { uid: 'uid-web', namespace: 'default', name: 'web' };
const LISTS = {
  sandboxes: [{ id: SANDBOX, pod: WEB, attempt: 0, ready: true, createdAtMs: 0 }],
  containers: [],
};
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  await write('proc/uptime', '90000.00 1.00\n');
  await write('proc/5/stat', stat(5, 'containerd'));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

const stat = (pid: number, command: string): string =>
  `${pid} (${command}) S 1 ${pid} ${pid} 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ${pid * 10} 9 9\n`;

async function addShim({ pid = 20, socket = SOCKET, bundle = `/tasks/${SANDBOX}` } = {}): Promise<void> {
  const words = [
    '/usr/bin/containerd-shim-runc-v2',
    '-namespace',
    'k8s.io',
    '-id',
    SANDBOX,
    '-address',
    socket,
  ];
  await write(`proc/${pid}/stat`, stat(pid, 'containerd-shim'));
  await write(`proc/${pid}/cmdline`, words.map((word) => `${word}\0`).join(''));
  await symlink(bundle, join(root, `proc/${pid}/cwd`));
}

/** Files of a user who may not read what belongs to processes of others. */
class ForbiddenFiles extends HostFiles {
  override async readLink(path: string): Promise<string> {
    throw Object.assign(new Error(`EACCES: permission denied, readlink '${path}'`), { code: 'EACCES' });
  }

  override async list(path: string): Promise<string[]> {
    if (!path.endsWith('/fd')) return await super.list(path);
    throw Object.assign(new Error(`EACCES: permission denied, scandir '${path}'`), { code: 'EACCES' });
  }
}

async function examine(
  Files: typeof HostFiles,
  name = 'containerd',
  lists: ListedNode = LISTS,
  mayWrite = false,
): Promise<MachineFacts> {
  const { signal } = new AbortController();
  const clock = new SystemClock();
  const machine = new MachineExaminer({
    ...{ files: new Files({ root, clock, signal }), clock, signal, mayWrite },
    addresses: { socketPath: SOCKET, kubeletPort: undefined },
  });
  await machine.begin();
  return await machine.end({
    facts: { ...aNode().runtime, name },
    ...{ firstLists: lists, lastLists: lists, imageFilesystems: notKnown('not asked') },
  });
}

const judge = (machine: MachineFacts) => ({
  exitCode: exitCodeOf({ facts: aNode({ machine }), findings: [] }),
  unseen: listUnseen(aNode({ machine })).map(({ what, why }) => `${what}: ${why}`),
});

describe('a machine', () => {
  it('has its disk measured where a runtime that does not answer has its images, and not where the disk is silent', async () => {
    await mkdir(join(root, 'var/lib/containers/storage'), { recursive: true });
    const { fsync } = await examine(HostFiles, 'cri-o', LISTS, true);
    expect(fsync).toMatchObject({ known: true, value: { path: '/var/lib/containers/storage', writes: 5 } });
    class SilentFiles extends HostFiles {
      override async stat(path: string): Promise<Stats> {
        if (path.startsWith('/var/lib/cont')) throw new SilentFilesError(5_000);
        return await super.stat(path);
      }
    }
    const silent = await examine(SilentFiles, 'cri-o', LISTS, true);
    expect(silent.fsync).toEqual({ known: false, why: '/var/lib/containerd does not answer' });
    expect(silent.silentDisks.map(({ path }) => path)).toContain('/var/lib/containerd');
  });

  it('has the disk measured where its runtime, of several, has its state', async () => {
    for (const [at, name] of ['other', 'own'].entries()) {
      const folder = `/run/${name}/io.containerd.runtime.v2.task/k8s.io/${SANDBOX}`;
      await mkdir(join(root, folder), { recursive: true });
      const socket = name === 'own' ? SOCKET : '/run/other/containerd.sock';
      await addShim({ pid: 20 + at, socket, bundle: folder });
    }
    class SilentFiles extends HostFiles {
      override async stat(path: string): Promise<Stats> {
        if (path.startsWith('/run/o')) throw new SilentFilesError(5_000);
        return await super.stat(path);
      }
    }
    const { silentDisks } = await examine(SilentFiles);
    expect(silentDisks.map(({ path }) => path)).toEqual(['/run/own']);
  });

  it('has shims that are nobody’s by the names of their pods', async () => {
    await addShim();
    const annotations = {
      ...{ 'io.kubernetes.cri.sandbox-uid': 'uid-old', 'io.kubernetes.cri.sandbox-namespace': 'shop' },
      'io.kubernetes.cri.sandbox-name': 'old',
    };
    await write(`tasks/${SANDBOX}/config.json`, JSON.stringify({ annotations }));
    const { shims, abandonedShims } = await examine(HostFiles, 'containerd', {
      sandboxes: [],
      containers: [],
    });
    const shim = { pid: 20, sandboxId: SANDBOX, pod: { uid: 'uid-old', namespace: 'shop', name: 'old' } };
    expect(shims).toMatchObject({ known: true, value: { orphanCount: 1, orphans: [shim] } });
    // Nobody listens at the socket of its containerd.
    expect(abandonedShims).toMatchObject({ known: true, value: { count: 1, shims: [shim] } });
  });

  it('has no shims that are nobody’s of what ctr or nerdctl started in the namespace of CRI', async () => {
    await addShim();
    await write(`tasks/${SANDBOX}/config.json`, JSON.stringify({ annotations: { 'nerdctl/name': 'tool' } }));
    const { shims } = await examine(HostFiles, 'containerd', { sandboxes: [], containers: [] });
    expect(shims).toMatchObject({ known: true, value: { orphanCount: 0, orphans: [] } });
  });

  it('is judged where the processes of all are seen', async () => {
    await addShim();
    const { exitCode, unseen } = judge(await examine(HostFiles));
    expect(exitCode).toBe(0);
    expect(unseen.filter((line) => line.includes('shims'))).toEqual([]);
  });

  it('is not judged by who may not see what shims are at, and the reason is one', async () => {
    await addShim();
    const { exitCode, unseen } = judge(await examine(ForbiddenFiles));
    expect(exitCode).toBe(4);
    expect(unseen).toContain('what shims and runc are at: permission denied: it takes root');
    expect(unseen).toContain(
      'the processes of the runtime and the kubelet: permission denied: it takes root',
    );
  });

  it('is not judged where pods run on a containerd and no shim is seen', async () => {
    const { exitCode, unseen } = judge(await examine(HostFiles));
    expect(exitCode).toBe(4);
    expect(unseen).toContainEqual(expect.stringMatching(/^what shims and runc are at: no shim is seen/));
    expect(judge(await examine(HostFiles, 'cri-o')).exitCode).toBe(0);
  });
});
