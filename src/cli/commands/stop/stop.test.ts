import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;
const asked = (): string[] => agent.requests.map(({ method, path }) => `${method} ${path}`);
const aPod = (name: string, more: object = {}) => ({ kind: 'Pod', ...aKubePod(name), ...more });

describe('podloop stop', () => {
  it('ends the pod, waits for that, and says how it runs again', async () => {
    agent.on(`DELETE ${PODS_PATH}/web`, () => aPod('web-vm'));
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    const { code, stdout, stderr } = await podloop('stop', 'web', '-t', '5');
    expect([code, stdout, stderr]).toEqual([
      0,
      'pod "web-vm" stopped\n',
      'To run it again: podloop start web-vm\n',
    ]);
    expect(agent.requests[0]?.query).toEqual({ gracePeriodSeconds: '5', keepClaims: 'true' });
  });

  it.each([
    [
      ['stop', 'web', 'db', '--no-wait'],
      ['web', 'db'],
    ],
    [['stop', 'pod', 'web', '--no-wait'], ['web']],
    [
      ['stop', 'pod/web', 'pods/db', '--no-wait'],
      ['web', 'db'],
    ],
    [
      ['stop', '--all', '--no-wait'],
      ['a', 'b'],
    ],
    [['stop', '-l', 'app=web', '--no-wait'], ['b']],
  ])('%j asks for the end of %j', async (args, names) => {
    agent.on(`GET ${PODS_PATH}`, ({ query }) =>
      query['labelSelector'] === 'app=web'
        ? aKubeList(aKubePod('b'))
        : aKubeList(aKubePod('a'), aKubePod('b')),
    );
    for (const name of ['web', 'db', 'a', 'b']) agent.on(`DELETE ${PODS_PATH}/${name}`, () => aPod(name));
    const { code, stdout } = await podloop(...args);
    expect([code, stdout]).toEqual([0, names.map((name) => `pod "${name}" stopping\n`).join('')]);
    const ended = asked().filter((one) => one.startsWith('DELETE'));
    expect(ended).toEqual(names.map((name) => `DELETE ${PODS_PATH}/${name}`));
  });

  it.each([
    ['Succeeded', 'Job', []],
    ['Failed', 'Job', []],
    ['Running', 'Job', ['The Job owner makes another pod in its place']],
    ['Succeeded', 'ReplicaSet', ['The ReplicaSet owner makes another pod in its place']],
  ])('says of a %s pod of a %s whether another one follows', async (phase, kind, lines) => {
    const ownerReferences = [{ kind, name: 'owner' }];
    const metadata = { name: 'a', namespace: 'default', ownerReferences };
    agent.on(`DELETE ${PODS_PATH}/a`, () => aPod('a', { metadata, status: { phase } }));
    agent.on(`DELETE ${PODS_PATH}/b`, () => aPod('b'));
    const said = async (...names: string[]) =>
      (await podloop('stop', ...names, '--no-wait')).stderr.split('\n').filter((line) => line !== '');
    expect(await said('a')).toEqual(lines);
    expect(await said('a', 'b')).toEqual([...lines, 'To run it again: podloop start b']);
    await podloop('delete', 'pod', 'a', '--no-wait').then(({ stderr }) =>
      expect(stderr.split('\n').filter((line) => line !== '')).toEqual(lines),
    );
  });

  it('stops the others when one is not there, and fails', async () => {
    agent.on(`DELETE ${PODS_PATH}/web`, () => aPod('web'));
    const { code, stdout, stderr } = await podloop('stop', 'nope', 'web', '--no-wait');
    expect([code, stdout]).toEqual([1, 'pod "web" stopping\n']);
    expect(stderr).toContain('pods "nope" not found');
  });

  it.each([
    [['stop'], 'name a pod, as in "podloop stop web", or use --all or --selector'],
    [['restart'], 'name a pod, as in "podloop restart web", or use --all or --selector'],
    [
      ['stop', 'web', '--all'],
      'name the pods, or choose them by --all, --all-namespaces or --selector, not both',
    ],
    [['stop', 'node/n1'], 'node/n1 is no pod; only pods can stop'],
    [['restart', 'cm/a', 'web'], 'cm/a is no pod; only pods can restart'],
    [['start', 'web', '--all'], 'name the pods, or use --all, not both'],
  ])('%j is refused', async (args, words) => {
    const { code, stderr } = await podloop(...args);
    expect([code, stderr]).toEqual([1, `error: ${words}\n`]);
    expect(asked()).toEqual([]);
  });
});

describe('podloop start', () => {
  const stopped = (...names: string[]) => ({
    kind: 'StoppedPodList',
    items: names.map((name) => ({ metadata: { namespace: 'default', name } })),
  });

  it('lets a stopped pod run again', async () => {
    agent.on(`POST ${PODS_PATH}/web/start`, () => ({ kind: 'StoppedPod', metadata: { name: 'web-vm' } }));
    expect(await podloop('start', 'pod/web')).toMatchObject({ code: 0, stdout: 'pod "web-vm" started\n' });
  });

  it('lists what is stopped, or says that nothing is', async () => {
    agent.on('GET /stopped', () => stopped('db-vm', 'web-vm'));
    expect((await podloop('start')).stdout).toBe('default/db-vm\ndefault/web-vm\n');
    agent.on('GET /stopped', () => stopped());
    expect(await podloop('start')).toMatchObject({ code: 0, stdout: '', stderr: 'No pod is stopped\n' });
    expect(await podloop('start', '--all')).toMatchObject({ code: 0, stderr: 'No pod is stopped\n' });
  });

  it('starts all', async () => {
    agent.on('GET /stopped', () => stopped('db', 'web'));
    for (const name of ['db', 'web'])
      agent.on(`POST ${PODS_PATH}/${name}/start`, () => ({ kind: 'StoppedPod', metadata: { name } }));
    expect((await podloop('start', '--all')).stdout).toBe('pod "db" started\npod "web" started\n');
  });

  it('says why a pod cannot be started', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aPod('web'));
    expect((await podloop('start', 'web')).stderr).toContain(
      'pod "web" is not stopped; "podloop restart web"',
    );
    const { code, stderr } = await podloop('start', 'nope');
    expect([code, stderr]).toEqual([
      1,
      'error: there is no pod "nope" in namespace default; "podloop apply -f FILE" adds one\n',
    ]);
  });
});

describe('podloop restart', () => {
  it('waits until the pod has ended and runs again', async () => {
    const ending = {
      name: 'web',
      namespace: 'default',
      uid: 'uid-web',
      deletionTimestamp: '2026-01-01T00:10:30Z',
    };
    const withContainer = (containerID: string) => ({
      ...{ phase: 'Running', containerStatuses: [{ name: 'main', containerID }] },
    });
    const running = withContainer('c://before');
    agent.on(`POST ${PODS_PATH}/web/restart`, () => aPod('web', { metadata: ending, status: running }));
    // The status of its former life is not mistaken for the new one.
    agent.on(`GET ${PODS_PATH}`, () => aKubeList({ ...aKubePod('web'), metadata: ending, status: running }));
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
      const say = (type: string, object: object): unknown =>
        answer.write(`${JSON.stringify({ type, object })}\n`);
      say('MODIFIED', aPod('web', { metadata: ending, status: running }));
      say('MODIFIED', aPod('web', { status: { ...running, phase: 'Failed' } }));
      say('MODIFIED', aPod('web', { status: { phase: 'Pending' } }));
      say('MODIFIED', aPod('web', { status: withContainer('c://after') }));
      return undefined;
    });
    const { code, stdout } = await podloop('restart', 'web');
    expect([code, stdout]).toEqual([0, 'pod "web" restarted\n']);
  });

  it('does not wait when it is told not to', async () => {
    agent.on(`POST ${PODS_PATH}/web/restart`, () => aPod('web'));
    expect((await podloop('restart', 'web', '--no-wait')).stdout).toBe('pod "web" restarting\n');
    expect(asked()).toEqual([`POST ${PODS_PATH}/web/restart`]);
  });
});
