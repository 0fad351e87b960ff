import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Incident, type Scene } from '../harness/incident.js';

const run = promisify(execFile);
const SERVER = path.join(import.meta.dirname, '../harness/fuse-server.mjs');
const LOOKS = 'while true; do ls /data >/dev/null; sleep 1; done';

/** A FUSE file system, a pod that looks into it, and the pid of its server. */
async function mountForPod({ node, atEnd }: Scene): Promise<{ folder: string; pid: number; pod: string }> {
  const folder = path.join(node.containerd.folder, 'fuse');
  await mkdir(folder, { recursive: true });
  const server = spawn(process.execPath, [SERVER, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout, 'data');
  atEnd(async () => {
    server.kill('SIGCONT');
    server.kill('SIGKILL');
    await run('umount', ['-l', folder]).catch(() => undefined);
  });
  await node.run({
    ...{ name: 'mounted', script: LOOKS },
    container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    spec: { volumes: [{ name: 'data', hostPath: { path: folder } }] },
  });
  return { folder, pid: server.pid!, pod: node.fullNameOf('mounted') };
}

/** Mounts a folder on itself, read-only. */
async function makeReadOnly(folder: string, atEnd: Scene['atEnd']): Promise<void> {
  await run('mount', ['--bind', folder, folder]);
  atEnd(() => run('umount', ['-l', folder]));
  await run('mount', ['-o', 'remount,bind,ro', folder]);
}

/** Mounts whose server does not answer, and disks that nothing can be written to. */
export const MOUNT_INCIDENTS: readonly Incident[] = [
  {
    name: 'the FUSE server of a volume of one pod is stopped',
    isOfMachine: true,
    pods: [{ name: 'db' }],
    make: async (scene) => {
      const { folder, pid, pod } = await mountForPod(scene);
      process.kill(pid, 'SIGSTOP');
      const remedy = new RegExp(`kill -CONT ${pid}`);
      return { codes: ['MountHangs'], pods: [pod, folder], pid, remedy, hasSince: true };
    },
  },
  {
    name: 'the FUSE server of a volume of one pod has died',
    isOfMachine: true,
    pods: [{ name: 'db' }],
    make: async (scene) => {
      const { folder, pid, pod } = await mountForPod(scene);
      process.kill(pid, 'SIGKILL');
      return { codes: ['MountHangs'], pods: [pod, folder, 'ENOTCONN'], remedy: /^Its server has ended/ };
    },
  },
  ...['root', 'root/io.containerd.snapshotter.v1.overlayfs'].map((below): Incident => ({
    name: `the disk of the images is read-only (${path.basename(below)})`,
    pods: [{ name: 'db' }],
    make: async ({ node, atEnd }) => {
      await makeReadOnly(path.join(node.containerd.folder, below), atEnd);
      return {
        codes: ['DiskReadOnly'],
        pods: [path.join(node.containerd.folder, 'root')],
        remedy: /remount,rw/,
      };
    },
  })),
];
