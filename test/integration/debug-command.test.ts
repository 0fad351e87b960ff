/**
 * Containers that `podloop debug` adds to pods that no file of their own has, on the embedded runtime with namespaces.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

const isRoot = process.getuid?.() === 0;
const LIMIT = { timeout: patiently(150_000), interval: 300 };
const TEST = { timeout: patiently(300_000) };
/** The real one, which the tests of clusters have. */
const KUBECTL = join(process.env['KUBEBUILDER_ASSETS'] ?? '/nowhere', 'kubectl');
const IMAGE = 'podloop.local/host';

let folder: string;
let agent: PodloopProcess;

const socket = (): string => join(folder, 'node/podloop.sock');
const podloop = async (args: readonly string[], stdin?: string) =>
  runPodloop(args, { env: { PODLOOP_SOCKET: socket() }, ...(stdin === undefined ? {} : { stdin }) });
const printed = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await podloop(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
};

function startAgent(): PodloopProcess {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'namespaces', '--network', 'host'];
  const node = ['--node-name', 'n1', '--forbid', 'privileged', '--stop-pods'];
  return new PodloopProcess(['run', join(folder, 'manifests'), ...place, ...runtime, ...node]);
}

const podSpec = (seconds: string) => ({
  terminationGracePeriodSeconds: 0,
  containers: [{ name: 'main', image: IMAGE, command: ['sleep', seconds] }],
});
const pod = (name: string, seconds: string) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: podSpec(seconds) });
const DEPLOYMENT = JSON.stringify({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app' } },
  spec: {
    selector: { matchLabels: { app: 'app' } },
    template: { metadata: { labels: { app: 'app' } }, spec: podSpec('4713') },
  },
});

/** Ids, restarts and states of the containers of a pod, by their names. */
async function containersOf(name: string): Promise<Record<string, string>> {
  const { status } = JSON.parse(await printed('get', 'pod', name, '-o', 'json')) as {
    status: Record<string, { name: string; containerID: string; restartCount: number; state: object }[]>;
  };
  const all = [...(status['containerStatuses'] ?? []), ...(status['ephemeralContainerStatuses'] ?? [])];
  return Object.fromEntries(
    all.map(({ name: container, containerID, restartCount, state }) => [
      container,
      `${containerID} ${restartCount} ${Object.keys(state).join()}`,
    ]),
  );
}

describe.runIf(isRoot)('podloop debug', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-debug-test-'));
    await mkdir(join(folder, 'manifests'));
    await writeFile(join(folder, 'manifests/two.yaml'), `${pod('web', '4711')}\n---\n${pod('db', '4712')}\n`);
    await writeFile(join(folder, 'manifests/app.json'), DEPLOYMENT);
    agent = startAgent();
    await vi.waitFor(async () => {
      const { stdout } = await podloop(['get', 'pods', '--no-headers']);
      expect(stdout.match(/ 1\/1 +Running /g)).toHaveLength(3);
    }, LIMIT);
  }, patiently(200_000));

  afterAll(async () => {
    await agent.end('SIGTERM');
    await untilNobodyNames(folder);
    await rm(folder, { recursive: true });
  }, patiently(120_000));

  it('shows the processes of the targeted container of a pod in a file with others', TEST, async () => {
    const script = 'tr "\\0" " " </proc/1/cmdline; echo; sleep 1000';
    const flags = ['--image', IMAGE, '-c', 'look', '--target=main', '--quiet'];
    await printed('debug', 'web', ...flags, '--', 'sh', '-c', script);
    await vi.waitFor(async () => {
      expect(await printed('logs', 'web', '-c', 'look')).toBe('sleep 4711');
    }, LIMIT);
    expect(await printed('exec', 'web', '-c', 'look', '--', 'echo', 'there')).toBe('there');
  });

  it('talks with a container in a pod of a Deployment', TEST, async () => {
    const command = ['sh', '-c', 'read -r line; echo "got $line"'];
    const ran = await podloop(['debug', 'deploy/app', '-i', '--image', IMAGE, '--', ...command], 'hello\n');
    expect(ran).toMatchObject({ code: 0, stdout: 'got hello' });
    expect(ran.stderr).toMatch(/^Defaulting debug container name to debugger-.{5}\.$/m);
  });

  it('leaves all of it as it is when the agent is killed and when the file is edited', TEST, async () => {
    const before = await containersOf('web');
    expect(Object.keys(before)).toEqual(['main', 'look']);
    await agent.end('SIGKILL');
    const labelled = pod('web', '4711').replace('"name":"web"', '"name":"web","labels":{"a":"1"}');
    await writeFile(join(folder, 'manifests/two.yaml'), `${labelled}\n---\n${pod('db', '4712')}\n`);
    agent = startAgent();
    await vi.waitFor(async () => {
      expect(await printed('get', 'pods', '-l', 'a=1', '-o', 'name')).toBe('pod/web-n1');
    }, LIMIT);
    expect(await containersOf('web')).toEqual(before);
  });

  it('refuses in kubectl’s words what is wrong, and adds nothing then', TEST, async () => {
    const refused = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await podloop(['debug', 'db', '--image', IMAGE, '-c', 'x', ...args]);
      expect(code).toBe(1);
      return stderr.split('\n').at(-1)!;
    };
    expect(await refused('-c', 'main')).toBe(
      'The Pod "db-n1" is invalid: spec.ephemeralContainers[0].name: Duplicate value: "main"',
    );
    expect(await refused('--target=none')).toBe(
      'The Pod "db-n1" is invalid: spec.ephemeralContainers[0].targetContainerName: Not found: "none"',
    );
    expect(await refused('--profile=sysadmin')).toBe(
      'Error from server (Forbidden): pods "db-n1" is forbidden: spec.ephemeralContainers[0].securityContext.privileged: Forbidden: this node runs with --forbid=privileged',
    );
    const again = ['debug', 'web', '--image', IMAGE, '-c', 'look', '-q', '--', 'true'];
    expect((await podloop(again)).stderr).toBe(
      'The Pod "web-n1" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers "look" may not be changed',
    );
    expect(Object.keys(await containersOf('db'))).toEqual(['main']);
  });

  it.runIf(existsSync(KUBECTL))('does what kubectl debug asks for', TEST, async () => {
    const sockets = new Set<Socket>();
    const relay = createServer((client) => {
      const server = connect(socket());
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        sockets.add(one);
        one.pipe(other);
        one.on('error', () => other.destroy());
      }
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = relay.address() as AddressInfo;
      const place = [`--server=http://127.0.0.1:${port}`, `--cache-dir=${join(folder, 'kubectl')}`];
      const command = ['--image', IMAGE, '--attach', '-c', 'real', '--', 'sh', '-c', 'sleep 2; echo joined'];
      const { stdout } = await promisify(execFile)(KUBECTL, [...place, 'debug', 'db-n1', ...command], {
        env: { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: '/nowhere' },
        timeout: LIMIT.timeout,
      });
      expect(stdout).toContain('joined');
      expect(Object.keys(await containersOf('db'))).toEqual(['main', 'real']);
    } finally {
      for (const each of sockets) each.destroy();
      await new Promise((resolve) => relay.close(resolve));
    }
  });

  it('ends with the life of the pod', TEST, async () => {
    const { main } = await containersOf('web');
    await printed('restart', 'web');
    await vi.waitFor(async () => {
      const after = await containersOf('web');
      expect(after['main']).toMatch(/ 0 running$/);
      expect([Object.keys(after), after['main'] === main]).toEqual([['main'], false]);
    }, LIMIT);
  });
});
