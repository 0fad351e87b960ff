import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from '#support/clients/tcp-client.js';
import { patiently } from '#support/patience.js';
import { type Incident, type Scene } from '../harness/incident.js';

const run = promisify(execFile);
const LOOKS = 'while true; do ls /data >/dev/null; sleep 1; done';
const WRITES = 'while true; do date > /data/now; sync; sleep 1; done';
const NFS_PORT = 2049;
const INIT = '/sys/fs/cgroup/init.scope';
const DISK = '/dev/nbd0';
const DISK_BYTES = 64 * 1024 * 1024;

/** A pod with a folder of the node in it, which ends before what is pushed earlier is undone. */
async function runOn(folder: string, script: string, { node, atEnd }: Scene): Promise<string> {
  atEnd(async () => {
    await node.unwant('mounted');
    await node.gone('mounted');
  });
  await node.run({
    ...{ name: 'mounted', script },
    container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    spec: { volumes: [{ name: 'data', hostPath: { path: folder } }] },
  });
  return node.fullNameOf('mounted');
}

/** A folder that this machine's kernel serves by NFS and mounts, with a pod that looks into it. */
async function mountByNfs(scene: Scene): Promise<{ folder: string; pod: string }> {
  const { node, atEnd } = scene;
  const [exported, folder] = ['exported', 'nfs'].map((name) => path.join(node.containerd.folder, name)) as [
    string,
    string,
  ];
  for (const each of [exported, folder]) await mkdir(each, { recursive: true });
  await run('systemctl', ['start', 'nfs-server']);
  atEnd(() => run('systemctl', ['stop', 'nfs-server']));
  await run('exportfs', ['-o', 'rw,insecure,no_root_squash,fsid=0', `127.0.0.1:${exported}`]);
  // A server that was restarted meanwhile exports it no more.
  atEnd(() => run('exportfs', ['-u', `127.0.0.1:${exported}`]).catch(() => undefined));
  await run('mount', ['-t', 'nfs4', '127.0.0.1:/', folder]);
  atEnd(() => run('umount', ['-l', folder]));
  return { folder, pod: await runOn(folder, LOOKS, scene) };
}

const expectNfs = ({ folder, pod }: { readonly folder: string; readonly pod: string }) => ({
  ...{ codes: ['MountHangs'], pods: [pod, folder, 'nfs4', '127.0.0.1:/'] },
  remedy: /^See whether the server 127\.0\.0\.1 is up.*umount -f/,
});

/** A disk that a server of this machine has, with ext4 on it, and a pod that writes to it. */
async function attachDisk(scene: Scene): Promise<{ server: number; pod: string }> {
  const { node, atEnd } = scene;
  const [image, folder] = ['nbd.img', 'nbd'].map((name) => path.join(node.containerd.folder, name)) as [
    string,
    string,
  ];
  await mkdir(folder, { recursive: true });
  await run('truncate', ['-s', String(DISK_BYTES), image]);
  await run('mkfs.ext4', ['-q', image]);
  const port = await findFreePort();
  const config = path.join(node.containerd.folder, 'nbd.conf');
  await writeFile(
    config,
    `[generic]\nport = ${port}\nlistenaddr = 127.0.0.1\n[disk]\nexportname = ${image}\n`,
  );
  const server = spawn('nbd-server', ['-d', '-C', config], { stdio: 'ignore' });
  await once(server, 'spawn');
  atEnd(async () => {
    server.kill('SIGKILL');
    await rm(image, { force: true });
  });
  await run('modprobe', ['nbd']);
  await attach(port);
  atEnd(() => run('nbd-client', ['-d', DISK]));
  await run('mount', [DISK, folder]);
  atEnd(() => run('umount', [folder]));
  return { server: await findWorker(server.pid!), pod: await runOn(folder, WRITES, scene) };
}

/** The server listens soon after it was started. */
async function attach(port: number): Promise<void> {
  const deadline = performance.now() + patiently(10_000);
  for (;;) {
    try {
      await run('nbd-client', ['-N', 'disk', '127.0.0.1', String(port), DISK]);
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(200);
    }
  }
}

/** The server has a process of its own for each client; itself where it has none. */
async function findWorker(pid: number): Promise<number> {
  const { stdout } = await run('pgrep', ['-P', String(pid)]).catch(() => ({ stdout: '' }));
  return Number(stdout.trim().split('\n')[0]) || pid;
}

/** The pid of the main process of a unit. */
async function mainPidOf(unit: string): Promise<number> {
  const { stdout } = await run('systemctl', ['show', '--property=MainPID', '--value', unit]);
  return Number(stdout);
}

/** What takes systemd as the first process, file servers and disks over the network: made in a machine of its own. */
export const STOCK_NODE_INCIDENTS: readonly Incident[] = [
  {
    name: 'the NFS server of a volume of one pod has ended',
    pods: [{ name: 'db' }],
    make: async (scene) => {
      const mounted = await mountByNfs(scene);
      await run('rpc.nfsd', ['0']);
      scene.atEnd(() => run('systemctl', ['restart', 'nfs-server']));
      return expectNfs(mounted);
    },
  },
  {
    name: 'nothing reaches the NFS server of a volume of one pod',
    pods: [{ name: 'db' }],
    make: async (scene) => {
      const mounted = await mountByNfs(scene);
      const rule = ['INPUT', '-p', 'tcp', '--dport', String(NFS_PORT), '-j', 'DROP'];
      await run('iptables', ['-I', ...rule]);
      scene.atEnd(() => run('iptables', ['-D', ...rule]));
      return expectNfs(mounted);
    },
  },
  {
    name: 'the server of a network disk is stopped, the pod that writes hangs',
    pods: [{ name: 'db' }],
    ageMs: 8_000,
    make: async (scene) => {
      const { server, pod } = await attachDisk(scene);
      process.kill(server, 'SIGSTOP');
      scene.atEnd(() => process.kill(server, 'SIGCONT'));
      return { codes: ['TasksBlocked'], pods: [pod], remedy: /^They wait for a disk/, hasSince: true };
    },
  },
  {
    name: 'systemd is frozen with its cgroup',
    pods: [{ name: 'db' }],
    make: async ({ node, atEnd }) => {
      await writeFile(`${INIT}/cgroup.freeze`, '1');
      atEnd(() => writeFile(`${INIT}/cgroup.freeze`, '0'));
      await node.want({ name: 'new' });
      return {
        ...{ codes: ['SystemdHangs'], pid: 1, pods: ['frozen with its cgroup'] },
        remedy: /^Thaw it, which interrupts nothing: .*init\.scope\/cgroup\.freeze/,
        hasSince: true,
      };
    },
  },
  {
    name: 'the message bus is stopped, runc waits for systemd',
    pods: [{ name: 'db' }],
    ageMs: 20_000,
    make: async ({ node, atEnd }) => {
      const pid = await mainPidOf('dbus');
      process.kill(pid, 'SIGSTOP');
      atEnd(() => process.kill(pid, 'SIGCONT'));
      await node.want({ name: 'new' });
      return { codes: ['SystemdHangs'], pid, remedy: new RegExp(`kill -CONT ${pid}`), hasSince: true };
    },
  },
];
