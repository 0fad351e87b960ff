import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeList, type Pod } from '../../src/cluster/client/kube-objects.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { type Containerd, startContainerd } from '../containerd/harness/containerd.js';
import { BUSYBOX_IMAGE } from '../containerd/harness/image.js';
import { findInstaller } from '../containerd/harness/installed.js';
import { ProgramAtTerminal } from '../integration/program-at-terminal.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { findOwnIp } from './harness/own-ip.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const isInstalled = existsSync(join(findInstaller().folder, 'installed.json'));
const PODS = '/api/v1/namespaces/default/pods';
/** More than one frame, and no multiple of anything. */
const BYTES = 3_000_001;
const KUBECTL = 'missing' in found ? '' : (found.binaries.kubectl ?? '');
const serverAt = (port: number): string =>
  `require('http').createServer((_, res) => res.end('ok\\n')).listen(${port}, '127.0.0.1')`;
const RUNTIMES = [
  {
    ...{ runtime: 'the embedded runtime', image: HOST_IMAGE, isThere: true },
    serve: (port: number) => [process.execPath, '-e', serverAt(port)],
  },
  {
    ...{ runtime: 'containerd', image: BUSYBOX_IMAGE, isThere: isInstalled },
    serve: (port: number) => ['serve', String(port)],
  },
];

for (const { runtime, image, isThere, serve } of RUNTIMES) {
  const skips = 'missing' in found || found.binaries.kubectl === undefined || !isThere;
  describe.skipIf(skips)(`kubectl, on ${runtime}`, () => {
    let plane: ControlPlane;
    let containerd: Containerd | undefined;
    let agent: ClusterAgent;
    let folder: string;

    beforeAll(async () => {
      if ('missing' in found) return;
      folder = await mkdtemp(join(tmpdir(), 'podloop-kubectl-'));
      plane = await ControlPlane.start(found);
      if (image === BUSYBOX_IMAGE) containerd = await startContainerd({ version: '1.7' });
      agent = await ClusterAgent.start(
        plane,
        'lab-a',
        ...['--port', String(await findFreePort()), '--client-ca-file', plane.keys.file('ca.crt')],
        ...['--address', '0.0.0.0', '--node-ip', findOwnIp()],
        ...(containerd === undefined ? [] : ['--runtime-endpoint', containerd.endpoint]),
      );
      await makePod('web', ['sh', '-c', 'exec sleep 7654']);
    });

    afterAll(async () => {
      await agent[Symbol.asyncDispose]();
      await containerd?.[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });

    const podOf = async (name: string): Promise<Pod> =>
      await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` });
    const makePod = async (name: string, command: readonly string[]): Promise<void> => {
      const container = { name: 'main', image, imagePullPolicy: 'IfNotPresent', command };
      const spec = { terminationGracePeriodSeconds: 0, containers: [container] };
      const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
      await plane.admin.request({ method: 'POST', path: PODS, body });
      const isRunning = async (): Promise<boolean> => (await podOf(name)).status?.phase === 'Running';
      await untilAsync('a pod that runs', isRunning, 90_000).catch((error: unknown) => {
        throw new Error(`${String(error)}; the agent said:\n${agent.log.slice(-4_000)}`);
      });
    };
    const digestOf = async (file: string): Promise<string> =>
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex');

    it('copies files and folders into a container, and back', async () => {
      const sent = join(folder, 'sent');
      await mkdir(join(sent, 'deep'), { recursive: true });
      await writeFile(join(sent, 'deep/bytes'), randomBytes(BYTES));
      await writeFile(join(sent, 'words'), 'two words\n', { mode: 0o600 });
      const place = await plane.kubectl('exec', 'web', '--', 'mktemp', '-d', '/tmp/copied-XXXXXX');
      const there = place.trim();
      try {
        await plane.kubectl('cp', sent, `web:${there}/all`);
        expect(await plane.kubectl('exec', 'web', '--', 'cat', `${there}/all/words`)).toBe('two words\n');
        await plane.kubectl('cp', `web:${there}/all`, join(folder, 'back'));
        expect(await digestOf(join(folder, 'back/deep/bytes'))).toBe(
          await digestOf(join(sent, 'deep/bytes')),
        );
        expect(await readFile(join(folder, 'back/words'), 'utf8')).toBe('two words\n');
      } finally {
        await plane.kubectl('exec', 'web', '--', 'rm', '-rf', there);
      }
    });

    it('gives a command the terminal, with its size, and tells how it ended', async () => {
      const command = `${KUBECTL} --kubeconfig ${plane.adminKubeconfig} exec -it web -- sh`;
      const shell = `sh -c 'stty cols 91 rows 31; exec ${command}'`;
      await using terminal = new ProgramAtTerminal(shell, { HOME: plane.folder });
      await terminal.shows(/[$#] /);
      // The size comes on a stream of its own, and so may come after what is typed.
      terminal.press('until stty size | grep -v "^0 0"; do sleep 0.1; done; [ -t 0 ] && echo is-$((1+1))\r');
      await terminal.shows(/31 91[^]*is-2/);
      terminal.press('exit 7\r');
      await terminal.shows(/command terminated with exit code 7/);
      expect(await terminal.ended).toMatchObject({ code: 7 });
    });

    it('reaches ports of a pod', async () => {
      const [port, local] = [await findFreePort(), await findFreePort()];
      await makePod('server', serve(port));
      const args = ['--kubeconfig', plane.adminKubeconfig, 'port-forward', 'server', `${local}:${port}`];
      const child = spawn(KUBECTL, args, { env: { ...process.env, HOME: plane.folder } });
      try {
        expect(await untilAsync('an answer', async () => (await askPort(local, '/')).text)).toBe('ok\n');
      } finally {
        child.kill('SIGKILL');
        await once(child, 'close');
      }
      await plane.kubectl('delete', 'pod', 'server', '--now');
    });

    it('adds a container to a pod that runs, and joins it', async () => {
      const script = 'echo debugging; echo again';
      const args = ['debug', 'web', `--image=${image}`, '--image-pull-policy=IfNotPresent', '-c', 'look'];
      await plane.kubectl(...args, '--', 'sh', '-c', script);
      const ended = await untilAsync('its end', async () => {
        const [status] = (await podOf('web')).status?.ephemeralContainerStatuses ?? [];
        return status?.state?.terminated !== undefined && status;
      });
      expect(ended).toMatchObject({ name: 'look', restartCount: 0, state: { terminated: { exitCode: 0 } } });
      expect(await plane.kubectl('logs', 'web', '-c', 'look')).toBe('debugging\nagain\n');
      const answer = await plane.kubectl(
        ...['debug', 'web', `--image=${image}`, '--image-pull-policy=IfNotPresent', '--attach', '-c', 'join'],
        ...['--', 'sh', '-c', 'sleep 2; echo joined'],
      );
      expect(answer).toContain('joined');
      // What was there goes on as it was.
      expect((await podOf('web')).status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0 });
    });

    it('shows the processes of the container that is debugged to what is added, with --target', async () => {
      await plane.kubectl(
        ...['debug', 'web', `--image=${image}`, '--image-pull-policy=IfNotPresent', '--target=main'],
        ...['-c', 'beside', '--', 'sh', '-c', 'tr "\\\\0" " " </proc/1/cmdline; echo; sleep 1000'],
      );
      await untilAsync('the command of process 1', async () => {
        return (await plane.kubectl('logs', 'web', '-c', 'beside')).includes('sleep 7654');
      });
      const ps = await plane.kubectl('exec', 'web', '-c', 'beside', '--', 'ps', '-eo', 'args');
      expect(ps).toContain('sleep 7654');
      // Others of the node are not seen.
      expect(ps).not.toContain('kube-apiserver');
    });

    it('copies a pod for debugging, with another command', async () => {
      await plane.kubectl(
        ...[
          'debug',
          'web',
          '--copy-to=copy',
          '--container=main',
          '--',
          'sh',
          '-c',
          'echo copied; sleep 1000',
        ],
      );
      await untilAsync('a copy that runs', async () => {
        return (await plane.kubectl('logs', 'copy', '-c', 'main')) === 'copied\n';
      });
      await plane.kubectl('delete', 'pod', 'copy', '--now');
    });

    it('debugs a node: its processes, its network and its files', async () => {
      await plane.kubectl(
        ...[
          'debug',
          'node/lab-a',
          `--image=${image}`,
          '--image-pull-policy=IfNotPresent',
          '--profile=sysadmin',
        ],
        ...[
          '--',
          'sh',
          '-c',
          `cat /host/proc/sys/kernel/hostname; ls /host${folder}; ps -eo args; sleep 1000`,
        ],
      );
      const { items = [] } = await plane.admin.request<KubeList<Pod>>({ method: 'GET', path: PODS });
      const name = items
        .map(({ metadata }) => metadata?.name ?? '')
        .find((each) => /^node-debugger-lab-a-/.test(each));
      const log = await untilAsync('what it prints', async () => {
        const text = await plane.kubectl('logs', name ?? '');
        return text.includes('kube-apiserver') && text;
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}; the agent said:\n${agent.log.slice(-4_000)}`);
      });
      expect(log.split('\n')[0]).toBe(hostname());
      expect(log).toContain('\nsent\n');
      const answer = await plane.kubectl('exec', name ?? '', '--', 'chroot', '/host', 'ls', folder);
      expect(answer).toContain('sent\n');
      await plane.kubectl('delete', 'pod', name ?? '', '--now');
    });
  });
}
