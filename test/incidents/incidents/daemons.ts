import { type Incident, type Scene } from '../harness/incident.js';
import { freeze } from './shims.js';

const PODS = [{ name: 'web' }, { name: 'db' }];

function stop(pid: number, { atEnd }: Scene): void {
  process.kill(pid, 'SIGSTOP');
  atEnd(() => process.kill(pid, 'SIGCONT'));
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
      };
    },
  },
  {
    name: 'the kubelet is stopped',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.kubeletPid;
      stop(pid, scene);
      return { codes: ['KubeletStopped'], pid, remedy: /kill -CONT/ };
    },
  },
  {
    name: 'the kubelet is frozen with its cgroup',
    pods: PODS,
    make: async (scene) => {
      const pid = scene.node.kubeletPid;
      await freeze(pid, scene);
      return { codes: ['KubeletStopped'], pid, remedy: /^Thaw it/ };
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
