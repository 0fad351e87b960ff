import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
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

    /** How many streams the API server has handed on to nodes as WebSockets. */
    async function handedOn(): Promise<number> {
      const text = await plane.kubectl('get', '--raw', '/metrics');
      return sum(text, /^apiserver_websocket_streaming_requests_total\{.*proxied_to_kubelet.*\} (\d+)$/gm);
    }

    /** How many the node has been asked for. */
    async function webSocketsOfNode(): Promise<number> {
      const text = await plane.kubectl('get', '--raw', '/api/v1/nodes/lab-a/proxy/metrics');
      return sum(text, /^kubelet_websocket_streaming_requests_total\{.*\} (\d+)$/gm);
    }

    async function kubectlWith(input: string, ...args: readonly string[]): Promise<string> {
      const { kubectl = '' } = 'missing' in found ? {} : found.binaries;
      const env = { ...process.env, HOME: plane.folder };
      const running = run(kubectl, ['--kubeconfig', plane.adminKubeconfig, ...args], {
        env,
        timeout: 60_000,
      });
      running.child.stdin?.end(input);
      return (await running).stdout;
    }

    it('is told that the node takes WebSocket, and hands it on', async () => {
      const node = await plane.admin.request<Node>({ method: 'GET', path: '/api/v1/nodes/lab-a' });
      expect(node.status).toMatchObject({
        declaredFeatures: ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'],
      });
      const [before, own] = [await handedOn(), await webSocketsOfNode()];
      expect(await plane.kubectl('exec', 'web', '--', 'echo', 'here')).toBe('here\n');
      expect(await handedOn()).toBe(before + 1);
      expect(await webSocketsOfNode()).toBe(own + 1);
    });

    it('hands the end of standard input on', async () => {
      expect(await kubectlWith('from here', 'exec', '-i', 'web', '--', 'cat')).toBe('from here');
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

    it('runs them for terminals in browsers, too, which say of what page they are', async () => {
      const tls = {
        ca: await readFile(plane.keys.file('ca.crt')),
        cert: await readFile(plane.keys.file('admin.crt')),
        key: await readFile(plane.keys.file('admin.key')),
      };
      const path = `${PODS}/web/exec?container=main&stdout=true&command=echo&command=browser`;
      for (const protocol of ['v5.channel.k8s.io', 'v4.channel.k8s.io']) {
        const socket = new WebSocket(`${plane.server.replace('https', 'wss')}${path}`, protocol, {
          ...tls,
          headers: {
            Origin: 'https://dashboard.example',
            'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64)',
            'Sec-Fetch-Site': 'cross-site',
          },
        });
        let heard = '';
        socket.on('message', (data) => {
          const [channel, text] = [(data as Buffer)[0], (data as Buffer).subarray(1).toString()];
          if (channel === 1) heard += text;
        });
        await once(socket, 'close');
        expect(heard).toBe('browser\n');
      }
    });

    it('reads pages of the node for dashboards', async () => {
      const headers = { Origin: 'https://dashboard.example', 'Sec-Fetch-Site': 'cross-site' };
      const tls = {
        cert: await readFile(plane.keys.file('admin.crt')),
        key: await readFile(plane.keys.file('admin.key')),
      };
      const path = '/api/v1/nodes/lab-a/proxy/healthz';
      expect(await askPort(Number(new URL(plane.server).port), path, { headers, tls })).toMatchObject({
        ...{ code: 200, text: 'ok' },
      });
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

function sum(text: string, numbers: RegExp): number {
  return [...text.matchAll(numbers)].reduce((total, [, each]) => total + Number(each), 0);
}
