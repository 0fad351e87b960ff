import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeDisk, mountDisk } from '../../integration/loop-disk.js';
import { type Incident, type Scene } from '../harness/incident.js';

const run = promisify(execFile);
const DISK_BYTES = 64 * 1024 * 1024;
const WRITES = 'while true; do date > /data/now; sync; sleep 1; done';
const HUNG_AFTER = '/proc/sys/kernel/hung_task_timeout_secs';
/** The kernel falls silent after ten. */
const WARNINGS_LEFT = '/proc/sys/kernel/hung_task_warnings';

/** A disk of its own below a pod that writes to it: a file with ext4 in it, mounted by a loop device. */
async function addDisk({ node, atEnd }: Scene): Promise<{ folder: string; device: string; pod: string }> {
  const [folder, file] = ['disk', 'disk.img'].map((name) => path.join(node.containerd.folder, name)) as [
    string,
    string,
  ];
  await mkdir(folder, { recursive: true });
  await makeDisk(file, DISK_BYTES);
  await mountDisk(file, folder, ['errors=remount-ro']);
  atEnd(async () => {
    await node.unwant('writer');
    await node.gone('writer');
    await run('umount', [folder]).catch(() => run('umount', ['-l', folder]));
    await rm(file, { force: true });
  });
  const { stdout } = await run('findmnt', ['-n', '-o', 'SOURCE', folder]);
  await node.run({
    ...{ name: 'writer', script: WRITES },
    container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    spec: { volumes: [{ name: 'data', hostPath: { path: folder } }] },
  });
  return { folder, device: path.basename(stdout.trim()), pod: node.fullNameOf('writer') };
}

async function freezeDisk(folder: string, atEnd: Scene['atEnd']): Promise<() => Promise<void>> {
  await run('fsfreeze', ['--freeze', folder]);
  const thaw = async (): Promise<void> => {
    await run('fsfreeze', ['--unfreeze', folder]).catch(() => undefined);
  };
  atEnd(thaw);
  return thaw;
}

/** Has the kernel say after five seconds, not two minutes, that a task hangs, and also where it has said so ten times before. */
async function hurryTheKernel(atEnd: Scene['atEnd']): Promise<void> {
  for (const [file, value] of [
    [HUNG_AFTER, '5'],
    [WARNINGS_LEFT, '100'],
  ] as const) {
    const before = await readFile(file, 'utf8');
    await writeFile(file, value);
    atEnd(() => writeFile(file, before));
  }
}

/** Disks that fail, hang or are full. */
export const DISK_INCIDENTS: readonly Incident[] = [
  {
    name: 'the kernel closes the file system of a volume of one pod after an error',
    isOfMachine: true,
    pods: [{ name: 'db' }],
    make: async (scene) => {
      const { folder, device, pod } = await addDisk(scene);
      await writeFile(`/sys/fs/ext4/${device}/trigger_fs_error`, '1');
      return {
        codes: ['DiskReadOnly', 'DiskErrors'],
        pods: [pod, folder, device],
        remedy: /interrupts.*fsck/,
      };
    },
  },
  {
    name: 'the file system of a volume of one pod is frozen, who writes hangs',
    isOfMachine: true,
    pods: [{ name: 'db' }],
    ageMs: 8_000,
    make: async (scene) => {
      const { folder, pod } = await addDisk(scene);
      await freezeDisk(folder, scene.atEnd);
      return { codes: ['TasksBlocked'], pods: [pod], remedy: /^They wait for a disk/, hasSince: true };
    },
  },
  {
    name: 'tasks of a pod have hung in the kernel and go on',
    isOfMachine: true,
    pods: [{ name: 'db' }],
    make: async (scene) => {
      await hurryTheKernel(scene.atEnd);
      const { folder } = await addDisk(scene);
      const thaw = await freezeDisk(folder, scene.atEnd);
      await sleep(20_000);
      await thaw();
      return { codes: ['KernelTasksHung'], pods: ['blocked for more than'], hasSince: true };
    },
  },
  {
    name: 'the disk of the runtime’s state is full',
    pods: [{ name: 'db' }],
    ageMs: 12_000,
    make: async ({ node, atEnd }) => {
      const fill = path.join(node.containerd.names.state, 'fill');
      await run('dd', ['if=/dev/zero', `of=${fill}`, 'bs=64k']).catch(() => undefined);
      atEnd(() => rm(fill, { force: true }));
      await node.want({ name: 'new' });
      atEnd(() => node.unwant('new'));
      return { codes: ['DiskFull'], pods: [node.containerd.names.state], remedy: /du -xh .*logs of shims/ };
    },
  },
  {
    name: 'the disk of the runtime’s state is read-only',
    pods: [{ name: 'db' }],
    make: async ({ node, atEnd }) => {
      const { state } = node.containerd.names;
      await run('mount', ['-o', 'remount,ro', state]);
      atEnd(() => run('mount', ['-o', 'remount,rw', state]));
      return { codes: ['DiskReadOnly'], pods: [state], remedy: /remount,rw/ };
    },
  },
];
