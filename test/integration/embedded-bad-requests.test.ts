import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type cri, type CriClient } from '../../src/watch/cri/index.js';
import { PodloopError } from '#base/errors/errors.js';
import { type ContainerParts, EmbeddedNode, HOST_IMAGE } from './embedded-node.js';

const UNKNOWN_ID = 'f'.repeat(64);
const NOBODY = { image: { image: 'example.test/none:1' } };

let node: EmbeddedNode;
let client: CriClient;
let pod = '';
let stoppedPod = '';
let removedPod = '';
let created = '';
let running = '';
let exited = '';

beforeAll(async () => {
  node = await EmbeddedNode.start();
  ({ client } = node);
  pod = await node.runPod('p');
  stoppedPod = await node.runPod('stopped');
  removedPod = await node.runPod('removed');
  await client.stopPodSandbox({ podSandboxId: stoppedPod });
  await client.removePodSandbox({ podSandboxId: removedPod });
  created = await node.create(pod, 'created', 'exit 0');
  running = await node.run(pod, 'running', 'sleep 1000');
  exited = await node.run(pod, 'exited', 'exit 3');
  await node.exited(exited);
  await mkdir(node.logs, { recursive: true });
  await symlink('/etc', join(node.logs, 'link'));
});
afterAll(() => node[Symbol.asyncDispose]());

/** Asks for a container in which one thing is wrong. */
function createWith(parts: ContainerParts, podSandboxId = pod) {
  const config = { metadata: { name: 'new' }, image: { image: HOST_IMAGE }, command: ['true'], ...parts };
  return client.createContainer({ podSandboxId, config });
}

/** Asks for a container with a security context that plain processes cannot have. */
function createSecured(
  securityContext: NonNullable<NonNullable<ContainerParts['linux']>['securityContext']>,
) {
  return createWith({ linux: { securityContext } });
}

/** Asks for a sandbox with such a security context. */
function runSecured(securityContext: cri.DeepPartial<cri.LinuxSandboxSecurityContext>) {
  return client.runPodSandbox({ config: { ...node.podConfig('q'), linux: { securityContext } } });
}

/** What is asked, and how it is refused: as containerd 2.1.9 does, as tried, where it has the same case. */
const REFUSED: [string, () => Promise<unknown>, string][] = [
  ['a sandbox without config', () => client.runPodSandbox({}), 'UNKNOWN'],
  ['a sandbox without metadata', () => client.runPodSandbox({ config: {} }), 'UNKNOWN'],
  ['a sandbox of a name that is taken', () => node.runPod('p'), 'UNKNOWN'],
  [
    'an unknown runtime handler',
    () => client.runPodSandbox({ config: node.podConfig('q'), runtimeHandler: 'kata' }),
    'UNKNOWN',
  ],
  ['a relative log directory', () => node.runPod('q', { logDirectory: 'logs' }), 'INVALID_ARGUMENT'],
  [
    'sysctls',
    () => client.runPodSandbox({ config: { ...node.podConfig('q'), linux: { sysctls: { a: '1' } } } }),
    'UNIMPLEMENTED',
  ],

  ['a name of a megabyte', () => node.runPod('x'.repeat(2 ** 20)), 'INVALID_ARGUMENT'],
  ['metadata that say nothing', () => client.runPodSandbox({ config: { metadata: {} } }), 'INVALID_ARGUMENT'],
  ['a host name that is too long', () => node.runPod('q', { hostname: 'x'.repeat(65) }), 'INVALID_ARGUMENT'],
  ['a host name that is an option', () => node.runPod('q', { hostname: '--help' }), 'INVALID_ARGUMENT'],
  [
    'a server of two lines',
    () => node.runPod('q', { dnsConfig: { servers: ['1.1.1.1\noptions x'], searches: [], options: [] } }),
    'INVALID_ARGUMENT',
  ],
  [
    'an unknown network mode',
    () => runSecured({ namespaceOptions: { network: 7 as never } }),
    'INVALID_ARGUMENT',
  ],

  ['a container in no sandbox', () => createWith({}, ''), 'UNKNOWN'],
  [
    'a container in a sandbox with an id of a megabyte',
    () => createWith({}, 'f'.repeat(2 ** 20)),
    'NOT_FOUND',
  ],
  ['a stop signal that does not exist', () => createWith({ stopSignal: 999 as never }), 'INVALID_ARGUMENT'],
  ['a stop signal below all', () => createWith({ stopSignal: -3 as never }), 'INVALID_ARGUMENT'],
  [
    'a process mode that does not exist',
    () => createSecured({ namespaceOptions: { pid: 9 as never } }),
    'INVALID_ARGUMENT',
  ],
  ['a container in an unknown sandbox', () => createWith({}, UNKNOWN_ID), 'NOT_FOUND'],
  ['a container in an abbreviated sandbox', () => createWith({}, pod.slice(0, 12)), 'NOT_FOUND'],
  ['a container in a stopped sandbox', () => createWith({}, stoppedPod), 'NOT_FOUND'],
  ['a container in a removed sandbox', () => createWith({}, removedPod), 'NOT_FOUND'],
  ['a container without config', () => client.createContainer({ podSandboxId: pod }), 'UNKNOWN'],
  ['a container without metadata', () => createWith({ metadata: undefined }), 'UNKNOWN'],
  ['a container without image', () => createWith({ image: undefined }), 'UNKNOWN'],
  ['a container of an unknown image', () => createWith(NOBODY), 'NOT_FOUND'],
  ['a container without command', () => createWith({ command: [] }), 'UNKNOWN'],
  ['a container of a name that is taken', () => createWith({ metadata: { name: 'running' } }), 'UNKNOWN'],
  ['mounts', () => createWith({ mounts: [{ hostPath: '/tmp', containerPath: '/mnt' }] }), 'UNIMPLEMENTED'],
  ['devices', () => createWith({ devices: [{ hostPath: '/dev/null' }] }), 'UNIMPLEMENTED'],
  ['another user', () => createSecured({ runAsUser: { value: 12345n } }), 'UNIMPLEMENTED'],
  ['another group', () => createSecured({ runAsGroup: { value: 12345n } }), 'UNIMPLEMENTED'],
  ['another user by name', () => createSecured({ runAsUsername: 'somebody-else' }), 'UNIMPLEMENTED'],
  ['more groups', () => createSecured({ supplementalGroups: [7n] }), 'UNIMPLEMENTED'],
  [
    'fewer capabilities',
    () => createSecured({ capabilities: { dropCapabilities: ['ALL'] } }),
    'UNIMPLEMENTED',
  ],
  ['no new privileges', () => createSecured({ noNewPrivs: true }), 'UNIMPLEMENTED'],
  ['a read-only root', () => createSecured({ readonlyRootfs: true }), 'UNIMPLEMENTED'],
  [
    'a seccomp profile',
    () => createSecured({ seccomp: { profileType: 2, localhostRef: 'x' } }),
    'UNIMPLEMENTED',
  ],
  ['a relative working directory', () => createWith({ workingDir: 'a/b' }), 'INVALID_ARGUMENT'],
  ['a NUL in an argument', () => createWith({ args: ['a\0b'] }), 'INVALID_ARGUMENT'],
  ['an impossible variable', () => createWith({ envs: [{ key: 'A=B' }] }), 'INVALID_ARGUMENT'],
  ['a log path that climbs', () => createWith({ logPath: '../outside.log' }), 'INVALID_ARGUMENT'],
  ['a log path that climbs later', () => createWith({ logPath: 'a/../../outside.log' }), 'INVALID_ARGUMENT'],
  ['an absolute log path', () => createWith({ logPath: '/tmp/outside.log' }), 'INVALID_ARGUMENT'],
  ['a log path through a link', () => createWith({ logPath: 'link/outside.log' }), 'INVALID_ARGUMENT'],

  ['the start of nothing', () => client.startContainer({}), 'UNKNOWN'],
  [
    'the start of an unknown container',
    () => client.startContainer({ containerId: UNKNOWN_ID }),
    'NOT_FOUND',
  ],
  ['the start of a running container', () => client.startContainer({ containerId: running }), 'UNKNOWN'],
  ['the start of an exited container', () => client.startContainer({ containerId: exited }), 'UNKNOWN'],
  ['the stop of nothing', () => client.stopContainer({}), 'UNKNOWN'],
  ['the removal of nothing', () => client.removeContainer({}), 'UNKNOWN'],
  ['the status of nothing', () => client.containerStatus({}), 'UNKNOWN'],
  [
    'the status of an unknown container',
    () => client.containerStatus({ containerId: UNKNOWN_ID }),
    'NOT_FOUND',
  ],
  ['the status of no sandbox', () => client.podSandboxStatus({}), 'UNKNOWN'],
  [
    'the status of an unknown sandbox',
    () => client.podSandboxStatus({ podSandboxId: UNKNOWN_ID }),
    'NOT_FOUND',
  ],
  ['the stop of no sandbox', () => client.stopPodSandbox({}), 'UNKNOWN'],
  ['the removal of no sandbox', () => client.removePodSandbox({}), 'UNKNOWN'],
  ['a new log for a created container', () => client.reopenContainerLog({ containerId: created }), 'UNKNOWN'],
  [
    'a new log for an unknown container',
    () => client.reopenContainerLog({ containerId: UNKNOWN_ID }),
    'NOT_FOUND',
  ],

  [
    'a command in an unknown container',
    () => client.execSync({ containerId: UNKNOWN_ID, cmd: ['true'] }),
    'NOT_FOUND',
  ],
  [
    'a command in a created container',
    () => client.execSync({ containerId: created, cmd: ['true'] }),
    'UNKNOWN',
  ],
  [
    'a command in an exited container',
    () => client.execSync({ containerId: exited, cmd: ['true'] }),
    'UNKNOWN',
  ],
  [
    'a command with a NUL',
    () => client.execSync({ containerId: running, cmd: ['echo', 'a\0b'] }),
    'INVALID_ARGUMENT',
  ],
  [
    'a command of three megabytes',
    () =>
      client.execSync({
        containerId: running,
        cmd: ['true', ...Array<string>(30).fill('x'.repeat(100_000))],
      }),
    'INVALID_ARGUMENT',
  ],
  [
    'an interactive command with a word that is too long',
    () => client.exec({ containerId: running, cmd: ['true', 'x'.repeat(131_072)], stdout: true }),
    'INVALID_ARGUMENT',
  ],
  ['no command', () => client.execSync({ containerId: running }), 'UNKNOWN'],
  [
    'a command that is not there',
    () => client.execSync({ containerId: running, cmd: ['/no/such'] }),
    'UNKNOWN',
  ],
  [
    'a command that takes too long',
    () => client.execSync({ containerId: running, cmd: ['sleep', '9'], timeout: 1n }),
    'DEADLINE_EXCEEDED',
  ],

  ['the status of no image', () => client.imageStatus({}), 'UNKNOWN'],
  ['the pull of no image', () => client.pullImage({}), 'UNKNOWN'],
  ['the pull of an unknown image', () => client.pullImage(NOBODY), 'NOT_FOUND'],
  [
    'the removal of the built-in image',
    () => client.removeImage({ image: { image: HOST_IMAGE } }),
    'FAILED_PRECONDITION',
  ],
  [
    'an interactive command without streams',
    () => client.exec({ containerId: running, cmd: ['sh'] }),
    'INVALID_ARGUMENT',
  ],
  [
    'an interactive command in an exited container',
    () => client.exec({ containerId: exited, cmd: ['sh'], stdout: true }),
    'UNKNOWN',
  ],
  [
    'an attachment to a created container',
    () => client.attach({ containerId: created, stdout: true }),
    'UNKNOWN',
  ],
  ['an attachment to nothing', () => client.attach({ containerId: UNKNOWN_ID, stdout: true }), 'NOT_FOUND'],
  ['ports of no sandbox', () => client.portForward({ podSandboxId: UNKNOWN_ID }), 'NOT_FOUND'],
  ['a port that is none', () => client.portForward({ podSandboxId: pod, port: [0] }), 'INVALID_ARGUMENT'],
];

describe('a bad request to the embedded runtime', () => {
  it.each(REFUSED)('%s is refused and changes nothing', async (_what, ask, code) => {
    const before = await everything();
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PodloopError);
    expect((error as PodloopError).code).toBe(`CRI_${code}`);
    expect((error as PodloopError).message).toMatch(/\w+ \w+/);
    expect(await everything()).toEqual(before);
  });

  it('is none when what should end has ended or was never there', async () => {
    const before = await everything();
    await client.stopContainer({ containerId: exited, timeout: 1n });
    await client.stopContainer({ containerId: created, timeout: 1n });
    await client.stopContainer({ containerId: exited, timeout: -5n });
    await client.stopContainer({ containerId: UNKNOWN_ID });
    await client.removeContainer({ containerId: UNKNOWN_ID });
    await client.stopPodSandbox({ podSandboxId: stoppedPod });
    await client.stopPodSandbox({ podSandboxId: UNKNOWN_ID });
    await client.removePodSandbox({ podSandboxId: removedPod });
    await client.removeImage(NOBODY);
    expect((await client.imageStatus(NOBODY)).image).toBeUndefined();
    expect(await everything()).toEqual(before);
  });

  it('tells of the limit that a command is over', async () => {
    const cmd = ['true', 'x'.repeat(3_000_000)];
    await expect(client.execSync({ containerId: running, cmd })).rejects.toThrow(
      /cmd is too long: 3\d{6} bytes .* and 131071 in one argument/,
    );
  });

  it('names the image that there is when another one is pulled', async () => {
    await expect(client.pullImage(NOBODY)).rejects.toThrow(HOST_IMAGE);
  });
});

async function everything(): Promise<unknown> {
  return { ...(await client.listPodSandbox({})), ...(await client.listContainers({})) };
}
