import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { askPort, findFreePort } from '../../src/testing/tcp-client.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { findOwnIp } from './harness/own-ip.js';
import { untilAsync } from './harness/until-async.js';

const run = promisify(execFile);
const found = findClusterBinaries();
const PODS = '/api/v1/namespaces/default/pods';
/** Writes a line, answers HTTP at a port, and repeats what it reads. */
const SCRIPT = (port: number): string =>
  `const out = (text) => process.stdout.write(text + '\\n'); out('here');
   require('http').createServer((_, res) => res.end('served')).listen(${port}, '127.0.0.1');
   process.stdin.on('data', (data) => out('heard ' + String(data).trim()));`;

describe.skipIf('missing' in found || found.binaries.kubectl === undefined)(
  'kubectl, by way of a real API server',
  () => {
    let plane: ControlPlane;
    let agent: ClusterAgent;
    let served: number;

    beforeAll(async () => {
      if ('missing' in found) return;
      plane = await ControlPlane.start(found);
      const [port, own] = [await findFreePort(), await findFreePort()];
      served = own;
      const ip = findOwnIp();
      const authorities = plane.keys.file('ca.crt');
      agent = await ClusterAgent.start(
        plane,
        'lab-a',
        ...['--port', String(port), '--address', ip, '--client-ca-file', authorities],
        ...['--node-ip', ip],
      );
      const command = [process.execPath, '-e', SCRIPT(served)];
      const container = { name: 'main', image: HOST_IMAGE, command, stdin: true };
      const body = {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
        spec: { terminationGracePeriodSeconds: 1, containers: [container] },
      };
      await plane.admin.request({ method: 'POST', path: PODS, body });
      await untilAsync(
        'a pod that runs',
        async () => {
          const pod = await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/web` });
          return pod.status?.phase === 'Running';
        },
        90_000,
      );
    });

    afterAll(async () => {
      await agent[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
    });

    it('reads logs', async () => {
      expect(await plane.kubectl('logs', 'web')).toContain('here');
    });

    it('runs commands, and tells how they end', async () => {
      const both = ['sh', '-c', 'echo out; echo err >&2'];
      expect(await plane.kubectl('exec', 'web', '--', ...both)).toBe('out\n');
      await expect(plane.kubectl('exec', 'web', '--', 'sh', '-c', 'exit 7')).rejects.toMatchObject({
        code: 7,
      });
    });

    it('runs commands over SPDY as well', async () => {
      const env = { ...process.env, HOME: plane.folder, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' };
      const args = ['--kubeconfig', plane.adminKubeconfig, 'exec', 'web', '--', 'echo', 'spdy'];
      const { kubectl = '' } = 'missing' in found ? {} : found.binaries;
      expect((await run(kubectl, args, { env, timeout: 60_000 })).stdout).toBe('spdy\n');
    });

    it('joins what runs', async () => {
      const { kubectl = '' } = 'missing' in found ? {} : found.binaries;
      const args = ['--kubeconfig', plane.adminKubeconfig, 'attach', '-i', 'web'];
      const child = spawn(kubectl, args, { env: { ...process.env, HOME: plane.folder } });
      try {
        let heard = '';
        child.stdout.on('data', (data) => (heard += String(data)));
        await untilAsync('an answer', () => {
          child.stdin.write('hello\n');
          return Promise.resolve(heard.includes('heard hello'));
        });
      } finally {
        child.kill('SIGKILL');
        await once(child, 'close');
      }
    });

    it('reaches ports of a pod', async () => {
      const { kubectl = '' } = 'missing' in found ? {} : found.binaries;
      const local = await findFreePort();
      const args = ['--kubeconfig', plane.adminKubeconfig, 'port-forward', 'web', `${local}:${served}`];
      const child = spawn(kubectl, args, { env: { ...process.env, HOME: plane.folder } });
      try {
        const answer = await untilAsync('an answer', async () => (await askPort(local, '/')).text);
        expect(answer).toBe('served');
      } finally {
        child.kill('SIGKILL');
        await once(child, 'close');
      }
    });
  },
);
