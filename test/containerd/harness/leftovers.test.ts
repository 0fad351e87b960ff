import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type InstanceNames } from './config.js';
import { FOLDER_PREFIX, OWNER_FILE, type OwnerFile, removeAbandonedInstances } from './leftovers.js';
import { findProcess, type ProcessIdentity } from './processes.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), FOLDER_PREFIX));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Writes whose instance this is. */
async function own(owner: ProcessIdentity): Promise<void> {
  const names: InstanceNames = {
    ...{ id: 'no-such', folder, socket: path.join(folder, 'containerd.sock'), subnet: '10.255.255' },
    ...{
      state: path.join(folder, 'state'),
      cniConfigFolder: path.join(folder, 'cni'),
      cniBinFolder: '/none',
    },
    ...{ bridge: 'podl-none', network: 'podloop-none', cgroupParent: '/podloop-none' },
  };
  const file: OwnerFile = { owner, names, busybox: '/bin/false' };
  await writeFile(path.join(folder, OWNER_FILE), JSON.stringify(file));
}

/** A program that gets a file as its kubelet would. */
async function startWith(file: string) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', '--config', file]);
  await once(child, 'spawn');
  return { child, ended: once(child, 'exit') };
}

it('what a killed test process left ends, with each program that works on it', async () => {
  const kubelet = await startWith(path.join(folder, 'kubelet/kubelet.json'));
  const other = await startWith(`${folder}-of-another/kubelet.json`);
  try {
    // Nobody has that start time.
    await own({ pid: process.pid, startTime: '1' });
    // A stopped one ends, too.
    kubelet.child.kill('SIGSTOP');
    expect(await removeAbandonedInstances()).toContain(path.basename(folder));
    await kubelet.ended;
    expect(kubelet.child.signalCode).toBe('SIGKILL');
    expect(other.child.exitCode ?? other.child.signalCode).toBeNull();
    await expect(access(folder)).rejects.toThrow();
  } finally {
    kubelet.child.kill('SIGKILL');
    other.child.kill('SIGKILL');
  }
});

it('what belongs to a test process that runs stays', async () => {
  const kubelet = await startWith(path.join(folder, 'kubelet.json'));
  try {
    await own((await findProcess(process.pid))!);
    expect(await removeAbandonedInstances()).not.toContain(path.basename(folder));
    expect(kubelet.child.exitCode ?? kubelet.child.signalCode).toBeNull();
  } finally {
    kubelet.child.kill('SIGKILL');
  }
});
