import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Incident, type Scene } from '../harness/incident.js';
import { until } from '../harness/incident-node.js';
import { runtimeService } from '../../containerd/harness/cri-driver.js';
import { freeze } from './shims.js';

const PODS = [{ name: 'web' }, { name: 'db' }];

function stop(pid: number, { atEnd }: Scene): void {
  process.kill(pid, 'SIGSTOP');
  atEnd(() => process.kill(pid, 'SIGCONT'));
}

/** Leaves a process no memory that it does not have yet, so that the kernel kills it, and waits until that has happened. */
async function starve(pid: number, busy: () => Promise<unknown>, { node, atEnd }: Scene): Promise<void> {
  const folder = `/sys/fs/cgroup/memory/podloop-lean-${node.containerd.names.id}`;
  await mkdir(folder, { recursive: true });
  atEnd(() => rmdir(folder).catch(() => undefined));
  await writeFile(path.join(folder, 'memory.limit_in_bytes'), '0');
  await writeFile(path.join(folder, 'cgroup.procs'), String(pid));
  await until(`the kernel has killed ${pid}`, 60_000, async () => {
    await busy();
    return !isThere(pid);
  });
}

/** Leaves a process room for one more task in a cgroup of its own. */
async function crowd(pid: number, { node, atEnd }: Scene): Promise<void> {
  const folder = `/sys/fs/cgroup/pids/podloop-crowd-${node.containerd.names.id}`;
  await mkdir(folder, { recursive: true });
  const before = await findPidsCgroup(pid);
  atEnd(async () => {
    await writeFile(path.join(folder, 'pids.max'), 'max');
    for (const each of (await readFile(path.join(folder, 'cgroup.procs'), 'utf8')).trim().split('\n'))
      await writeFile(path.join(before, 'cgroup.procs'), each).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
  });
  await writeFile(path.join(folder, 'cgroup.procs'), String(pid));
  const used = Number(await readFile(path.join(folder, 'pids.current'), 'utf8'));
  await writeFile(path.join(folder, 'pids.max'), String(used + 1));
}

async function findPidsCgroup(pid: number): Promise<string> {
  const line = /^\d+:pids:(.*)$/m.exec(await readFile(`/proc/${pid}/cgroup`, 'utf8'));
  return path.join('/sys/fs/cgroup/pids', line?.[1] ?? '/');
}

/** The number of inotify_init1(2), which perl does not know by its name. */
const INOTIFY = process.arch === 'arm64' ? 26 : 294;
const WATCHES = '/proc/sys/fs/inotify/max_user_watches';

/** Takes all instances of inotify that root may have, and resolves with the pid of who has them. */
async function takeAllInstances({ atEnd }: Scene): Promise<number> {
  // Others of the machine give theirs back now and then.
  const script = `$| = 1; 1 while syscall(${INOTIFY}, 0) >= 0; print "full\\n"; while (1) { select(undef, undef, undef, 0.05); syscall(${INOTIFY}, 0) }`;
  const holder = spawn('sh', ['-c', `ulimit -n 1048576; exec perl -e '${script}'`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEnd(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  return holder.pid!;
}

/** A process that its parent has not waited for yet is gone, too. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The runtime's own process and that of the kubelet. */
export const DAEMON_INCIDENTS: readonly Incident[] = [
  {
    name: 'containerd is stopped',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.containerd.pid!;
      stop(pid, scene);
      return {
        codes: ['RuntimeStopped'],
        pid,
        remedy: new RegExp(`kill -CONT ${pid}, which interrupts nothing`),
        hasSince: true,
      };
    },
  },
  {
    name: 'containerd is frozen with its cgroup',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.containerd.pid!;
      await freeze(pid, scene);
      return {
        codes: ['RuntimeStopped'],
        pid,
        remedy: /^Thaw it, which interrupts nothing: echo THAWED > .*podloop-ice/,
        hasSince: true,
      };
    },
  },
  {
    name: 'the kubelet is stopped',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.kubeletPid;
      stop(pid, scene);
      return { codes: ['KubeletStopped'], pid, remedy: /kill -CONT/, hasSince: true };
    },
  },
  {
    name: 'the kubelet is frozen with its cgroup',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.kubeletPid;
      await freeze(pid, scene);
      return { codes: ['KubeletStopped'], pid, remedy: /^Thaw it/, hasSince: true };
    },
  },
  {
    name: 'containerd is killed, its shims go on',
    pods: PODS,
    make: async ({ node, atEnd }) => {
      await node.containerd.kill();
      atEnd(() => node.containerd.start());
      return { codes: ['RuntimeNotRunning', 'RuntimeSocketMissing'], remedy: /^Start it/ };
    },
  },
  {
    name: 'containerd is killed and started while the doctor looks',
    pods: PODS,
    ageMs: 0,
    make: ({ node, atEnd }) => {
      const again = sleep(1_000).then(() => node.containerd.killAndRestart({ downMs: 500 }));
      atEnd(() => again);
      return Promise.resolve({ codes: ['RuntimeFlapping'] });
    },
  },
  {
    name: 'containerd is killed at the memory limit of its cgroup',
    pods: PODS,
    make: async (scene) => {
      const { node } = scene;
      const pid = node.containerd.pid!;
      scene.atEnd(async () => {
        await node.containerd.kill();
        await node.containerd.start();
      });
      const list = () => node.containerd.driver.call(runtimeService.listContainers, { filter: undefined });
      await starve(pid, () => list().catch(() => undefined), scene);
      return {
        codes: ['OutOfMemory'],
        pid,
        pods: ['podloop-lean'],
        remedy: /^Raise the limit of its unit/,
        hasSince: true,
      };
    },
  },
  {
    name: 'the kubelet is killed at the memory limit of its cgroup',
    pods: PODS,
    make: async (scene) => {
      const { node } = scene;
      const pid = node.kubeletPid;
      scene.atEnd(async () => {
        await node.endKubelet();
        await node.startKubelet();
      });
      await starve(pid, () => node.readMetrics().catch(() => ''), scene);
      return {
        codes: ['OutOfMemory'],
        pid,
        pods: ['podloop-lean'],
        remedy: /^Raise the limit of its unit/,
        hasSince: true,
      };
    },
  },
  {
    name: 'containerd has nearly all the tasks that its cgroup may have',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.containerd.pid!;
      await crowd(pid, scene);
      return { codes: ['TasksUsedUp'], pid, remedy: /^Raise TasksMax of its unit, which interrupts nothing/ };
    },
  },
  {
    name: 'root has no instance of inotify left',
    isOfMachine: true,
    pods: PODS,
    make: async (scene) => {
      const pid = await takeAllInstances(scene);
      return {
        ...{ codes: ['InotifyUsedUp'], pid },
        remedy: /^Raise the limit, which interrupts nothing: sysctl -w fs.inotify.max_user_instances=/,
      };
    },
  },
  {
    name: 'root has no watch of inotify left',
    isOfMachine: true,
    pods: PODS,
    make: async ({ atEnd }) => {
      const before = await readFile(WATCHES, 'utf8');
      await writeFile(WATCHES, '0');
      atEnd(() => writeFile(WATCHES, before));
      return { codes: ['InotifyUsedUp'], remedy: /fs.inotify.max_user_watches=/ };
    },
  },
  {
    name: 'containerd has nearly all the files open that it may have',
    pods: PODS,
    make: async ({ node, atEnd }) => {
      const pid = node.containerd.pid!;
      const before = await node.limitFiles(pid, 3);
      atEnd(() => node.limitFiles(pid, before));
      return { codes: ['FilesUsedUp'], pid, remedy: new RegExp(`prlimit --pid ${pid} --nofile`) };
    },
  },
];
