import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
  agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
  agent.on(`PATCH ${PODS_PATH}/web/ephemeralcontainers`, () => aKubePod('web'));
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(['debug', ...args]).ended;
const sent = (): unknown[] =>
  agent.requests
    .filter(({ method }) => method === 'PATCH')
    .map(({ body }) => (JSON.parse(body) as { spec: { ephemeralContainers: unknown[] } }).spec)
    .flatMap(({ ephemeralContainers }) => ephemeralContainers);
/** The pod with a debug container in that state. */
const withState = (state: object): object => {
  const { status } = aKubePod('web') as { status: object };
  return aKubePod('web', {
    status: { ...status, ephemeralContainerStatuses: [{ name: 'look', state }] },
  });
};

describe('podloop debug', () => {
  it('adds a container that may trace processes, as kubectl does', async () => {
    expect(await podloop('web', '--image=tools:1', '-c', 'look', '--', 'netstat', '-t')).toEqual({
      ...{ code: 0, stdout: '', stderr: 'What it prints: podloop logs web -c look\n' },
    });
    const securityContext = { capabilities: { add: ['SYS_PTRACE'] } };
    expect(sent()).toEqual([{ name: 'look', image: 'tools:1', command: ['netstat', '-t'], securityContext }]);
  });

  it('says which name it has chosen, and whose processes it is to see', async () => {
    const { stderr } = await podloop('web', '--image=tools:1', '--target=main', '--profile=baseline');
    expect(stderr).toMatch(
      /^Targeting container "main"\. If you don't see .*\nDefaulting debug container name to debugger-[a-z0-9]{5}\.\nWhat it prints: podloop logs web -c debugger-[a-z0-9]{5}\n$/,
    );
    const name: unknown = expect.stringMatching(/^debugger-.{5}$/);
    expect(sent()).toEqual([{ name, image: 'tools:1', targetContainerName: 'main' }]);
    expect((await podloop('web', '--image=tools:1', '-q')).stderr).toBe('');
  });

  it('hands on variables, arguments, the pull policy and a terminal', async () => {
    await podloop(
      ...['web', '--image=tools:1', '-c', 'look', '--image-pull-policy=Never', '--profile=legacy', '-it'],
      ...['--attach=false', '--env', 'A=1', '--env=B=x=y', '--arguments-only', '--', '-v'],
    );
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', value: 'x=y' },
    ];
    const container = { name: 'look', image: 'tools:1', imagePullPolicy: 'Never', args: ['-v'], env };
    expect(sent()).toEqual([{ ...container, stdin: true, tty: true }]);
  });

  it('prints what it waits for, and the log of a container that has ended at once', async () => {
    const states = [{ waiting: { reason: 'ErrImagePull', message: 'no such image' } }];
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(withState(states[0]!)));
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
      answer.end(`${JSON.stringify({ type: 'MODIFIED', object: withState({ terminated: {} }) })}\n`);
      return undefined;
    });
    agent.on(`GET ${PODS_PATH}/web/log`, ({ query }, answer) => {
      answer.end(`said by ${query['container']}\n`);
      return undefined;
    });
    expect(await podloop('web', '--image=tools:1', '-c', 'look', '--attach')).toEqual({
      ...{ code: 0, stdout: 'said by look\n', stderr: 'Warning: container look: no such image\n' },
    });
  });

  it('does not wait for a pod that has ended or gone meanwhile', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    expect(await podloop('web', '--image=tools:1', '-c', 'look', '-i')).toMatchObject({
      ...{ code: 1, stderr: 'error: pods "web" was deleted before the container started\n' },
    });
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web', { status: { phase: 'Failed' } })));
    expect(await podloop('web', '--image=tools:1', '-c', 'look', '-i')).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('current phase is Failed') as string },
    });
  });

  it('makes a copy, waits until it is there, and prints the log of a container that has ended', async () => {
    const made: unknown[] = [];
    agent.on(`POST ${PODS_PATH}`, ({ body }) => {
      made.push(JSON.parse(body));
      return { kind: 'Pod' };
    });
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    agent.on(`WATCH ${PODS_PATH}`, ({ query }, answer) => {
      expect(query).toMatchObject({ fieldSelector: 'metadata.name=copy-n1' });
      const containerStatuses = [{ name: 'main', state: { terminated: {} } }];
      const object = aKubePod('copy-n1', { status: { phase: 'Running', containerStatuses } });
      answer.end(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      return undefined;
    });
    agent.on(`GET ${PODS_PATH}/copy-n1/log`, (_, answer) => {
      answer.end('said by the copy\n');
      return undefined;
    });
    expect(await podloop('web', '--copy-to=copy', '-c', 'main', '-i', '--', 'id')).toEqual({
      ...{ code: 0, stdout: 'said by the copy\n' },
      stderr: 'pod/copy is there until "podloop delete pod copy".\n',
    });
    const containers = [{ name: 'main', image: 'i', command: ['id'], stdin: true }];
    const spec = { shareProcessNamespace: true, containers };
    const metadata = { name: 'copy', namespace: 'default' };
    expect(made).toEqual([{ apiVersion: 'v1', kind: 'Pod', metadata, spec }]);
    expect(sent()).toEqual([]);
  });

  it('says how a copy goes that is not in the default namespace', async () => {
    const pods = PODS_PATH.replace('/default/', '/team/');
    agent.on(`GET ${pods}/web`, () => aKubePod('web'));
    agent.on(`POST ${pods}`, () => ({ kind: 'Pod' }));
    const { stderr } = await podloop('web', '-n', 'team', '--copy-to=copy', '-c', 'main', '--', 'id');
    expect(stderr).toBe('pod/copy is there until "podloop delete pod copy -n team".\n');
  });

  it('prints the refusal of the agent', async () => {
    agent.on(`PATCH ${PODS_PATH}/web/ephemeralcontainers`, (_, answer) =>
      sendStatus(answer, 422, 'Invalid', '', {
        ...{ kind: 'Pod', name: 'web' },
        causes: [{ field: 'spec.ephemeralContainers[0].name', message: 'Duplicate value: "main"' }],
      }),
    );
    expect(await podloop('web', '--image=tools:1', '-c', 'main')).toMatchObject({
      code: 1,
      stderr: 'The Pod "web" is invalid: spec.ephemeralContainers[0].name: Duplicate value: "main"\n',
    });
  });

  it.each([
    [['web'], 'error: you must specify --image, or --copy-to.'],
    [['web', '--image=tools:1', '--set-image=*=a:1'], 'error: --set-image may only be used with --copy-to.'],
    [
      ['web', '--image=tools:1', '--share-processes=false'],
      'error: --share-processes may only be used with --copy-to.',
    ],
    [
      ['web', '--image=tools:1', '--copy-to=copy', '--target=main'],
      'error: --target is incompatible with --copy-to. Use --share-processes instead.',
    ],
    [
      ['web', '--copy-to=copy'],
      'error: you must specify an existing container or a new image when creating a copy',
    ],
    [
      ['web', '--copy-to=copy', '--set-image=main'],
      'error: invalid image "main" for --set-image: use CONTAINER=IMAGE, or *=IMAGE',
    ],
    [['--image=tools:1'], 'error: NAME is required for debug'],
    [['web', '--image=Tools:1'], 'error: invalid image name "Tools:1": invalid reference format'],
    [['web', '--image=tools:1', '-t'], 'error: -i/--stdin is required for containers with -t/--tty=true'],
    [['web', '--image=tools:1', '--profile=all'], 'error: unknown profile: all'],
    [['web', '--image=tools:1', '--env=A'], 'error: invalid env: A'],
    [['web', '--image=tools:1', '--image-pull-policy=Now'], 'error: invalid image pull policy: Now'],
    [
      ['web', 'sh', '--image=tools:1'],
      'error: expected one pod, saw 2: [web sh]; a command stands behind --',
    ],
    [['none', '--image=tools:1'], 'Error from server (NotFound): pods "none" not found'],
    [
      ['done', '--image=tools:1'],
      'error: cannot start a container in a completed pod; current phase is Succeeded',
    ],
  ])('refuses %j', async (args, words) => {
    agent.on(`GET ${PODS_PATH}/done`, () => aKubePod('done', { status: { phase: 'Succeeded' } }));
    expect(await podloop(...args)).toMatchObject({ code: 1, stderr: `${words}\n` });
    expect(sent()).toEqual([]);
  });
});
