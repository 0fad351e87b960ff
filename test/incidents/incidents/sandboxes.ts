import { chmod, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { PAUSE_IMAGE } from '../../containerd/harness/image.js';
import { findByArguments, findDescendants, signalProcess } from '../../containerd/harness/processes.js';
import { type Incident, type Scene } from '../harness/incident.js';

const NETWORKED = { spec: { hostNetwork: false } };
/** The number of clone(2), which perl does not know by its name. */
const CLONE = process.arch === 'arm64' ? 220 : 56;
/** With the machine’s perl: a child that has its parent’s memory, and keeps it (CLONE_VFORK, CLONE_VM, SIGCHLD). */
const VFORKS = {
  script: `exec chroot /host perl -e 'syscall(${CLONE}, 0x4000 | 0x100 | 17, 0, 0, 0, 0); sleep 100000'`,
  container: { volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }] },
  spec: { volumes: [{ name: 'host', hostPath: { path: '/' } }] },
};
const FAILS = `echo '{"cniVersion":"0.4.0","code":100,"msg":"no IP addresses available in range set: 10.1.1.2-10.1.1.3"}'; exit 1`;

/** Puts a network plugin that is this script in front of the usual one. */
async function breakNetwork(script: string, { node, atEnd }: Scene): Promise<void> {
  const { cniBinFolder, cniConfigFolder, id } = node.containerd.names;
  const plugin = path.join(cniBinFolder, `podloop-broken-${id}`);
  const config = path.join(cniConfigFolder, '00-broken.conflist');
  await writeFile(plugin, `#!/bin/sh\n[ "$CNI_COMMAND" = ADD ] || exit 0\n${script}\n`);
  await chmod(plugin, 0o755);
  const plugins = [{ type: path.basename(plugin) }];
  await writeFile(config, JSON.stringify({ cniVersion: '0.4.0', name: 'broken', plugins }));
  atEnd(async () => {
    await rm(config, { force: true });
    for (const call of await findByArguments(plugin))
      for (const each of [...(await findDescendants(call)), call]) await signalProcess(each, 'SIGKILL');
    await rm(plugin, { force: true });
  });
}

async function wantFour({ node, atEnd }: Scene): Promise<string[]> {
  const names = ['one', 'two', 'three', 'four'];
  for (const name of names) await node.want({ name, ...NETWORKED });
  atEnd(() => Promise.all(names.map((name) => node.unwant(name))));
  return names.map((name) => node.fullNameOf(name));
}

/** Sandboxes that are not made. */
export const SANDBOX_INCIDENTS: readonly Incident[] = [
  ...['sleep 100000', 'mkfifo "/tmp/podloop-fifo-$$"; read -r x < "/tmp/podloop-fifo-$$"'].map(
    (script, at): Incident => ({
      name: `CNI ADD hangs (${at === 0 ? 'it sleeps' : 'at a fifo'})`,
      pods: [{ name: 'db' }],
      ageMs: 22_000,
      make: async (scene) => {
        await breakNetwork(script, scene);
        await scene.node.want({ name: 'new', ...NETWORKED });
        scene.atEnd(() => scene.node.unwant('new'));
        return { codes: ['SandboxHangs'], pods: [scene.node.fullNameOf('new'), 'CNI ADD'] };
      },
    }),
  ),
  {
    name: 'CNI ADD fails for want of addresses, four pods are wanted',
    pods: [{ name: 'db' }],
    ageMs: 30_000,
    make: async (scene) => {
      await breakNetwork(FAILS, scene);
      return { codes: ['SandboxesFail'], pods: await wantFour(scene), hasSince: true };
    },
  },
  {
    name: 'the pause image is missing, four pods are wanted',
    ageMs: 30_000,
    make: async (scene) => {
      const { containerd } = scene.node;
      await containerd.ctr('images', 'rm', '--sync', PAUSE_IMAGE);
      scene.atEnd(() => containerd.importImages());
      return { codes: ['SandboxesFail'], pods: await wantFour(scene), hasSince: true };
    },
  },
  {
    name: 'a registry takes connections and never answers, one pod waits',
    pods: [{ name: 'db' }],
    ageMs: 70_000,
    make: async ({ node, atEnd }) => {
      const silent = createServer();
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      atEnd(() => silent.close());
      const { port } = silent.address() as AddressInfo;
      await node.want({ name: 'slow', container: { image: `127.0.0.1:${port}/nothing:1` } });
      atEnd(() => node.unwant('slow'));
      return { codes: ['PodsWait'], pods: [node.fullNameOf('slow')] };
    },
  },
  {
    name: 'the program of a pod ends with an error again and again',
    pods: [{ name: 'db' }],
    ageMs: 25_000,
    make: async ({ node, atEnd }) => {
      await node.want({ name: 'broken', script: 'exit 3' });
      atEnd(() => node.unwant('broken'));
      return { codes: ['PodsWait'], pods: [node.fullNameOf('broken'), 'CrashLoopBackOff'] };
    },
  },
  {
    name: 'the folder of a volume is not there, one pod waits',
    pods: [{ name: 'db' }],
    ageMs: 70_000,
    make: async ({ node, atEnd }) => {
      const hostPath = { path: path.join(node.containerd.folder, 'nowhere'), type: 'Directory' };
      await node.want({
        ...{ name: 'empty', spec: { volumes: [{ name: 'data', hostPath }] } },
        container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
      });
      atEnd(() => node.unwant('empty'));
      return { codes: ['PodsWait'], pods: [node.fullNameOf('empty')] };
    },
  },
  {
    name: 'four pods have a process that waits for its child in the kernel (vfork)',
    pods: ['one', 'two', 'three', 'four'].map((name) => ({ name, ...VFORKS })),
    ageMs: 6_000,
    make: ({ pods }) =>
      Promise.resolve({ codes: ['TasksBlocked'], pods: pods.map(({ fullName }) => fullName) }),
  },
  {
    name: 'the processes of a pod die and nobody collects them',
    pods: [
      {
        name: 'web',
        script: 'i=0; while [ $i -lt 150 ]; do sleep 2 & i=$((i+1)); done; exec sleep 100000',
      },
      { name: 'db' },
    ],
    make: ({ pods: [pod] }) =>
      Promise.resolve({ codes: ['Zombies'], pods: [pod!.fullName], container: 'app', remedy: /init|wait/ }),
  },
  {
    name: 'an image is not there, one pod waits',
    pods: [{ name: 'db' }],
    ageMs: 40_000,
    make: async ({ node, atEnd }) => {
      await node.want({ name: 'lost', container: { image: '127.0.0.1:1/nothing:1' } });
      atEnd(() => node.unwant('lost'));
      return { codes: ['PodsWait'], pods: [node.fullNameOf('lost')] };
    },
  },
];
