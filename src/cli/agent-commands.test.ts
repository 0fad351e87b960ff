import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgentServer, sendStatus } from '../testing/fake-agent-server.js';
import { FakeClock } from '../testing/fake-clock.js';
import { type CliHost } from './cli-host.js';
import { LineOutput } from './line-output.js';
import { runProgram } from './program.js';

const PODS = '/api/v1/namespaces/default/pods';
/** When the clock of the tests stands. */
const NOW = '2026-01-01T00:10:00Z';

let agent: FakeAgentServer;

beforeEach(async () => {
  agent = await FakeAgentServer.start();
});

afterEach(async () => {
  await agent[Symbol.asyncDispose]();
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly ended: Promise<Ran>;
  readonly interrupt: () => void;
  readonly sees: (text: string) => Promise<void>;
}

function start(
  args: readonly string[],
  { env, stdin }: { env?: Record<string, string>; stdin?: string } = {},
): Running {
  const output = { stdout: '', stderr: '' };
  const looks = new Set<() => void>();
  const collect = (name: 'stdout' | 'stderr'): LineOutput => {
    const stream = new PassThrough();
    stream.on('data', (chunk) => {
      output[name] += String(chunk);
      for (const look of looks) look();
    });
    return new LineOutput(stream);
  };
  const input = new PassThrough();
  input.end(stdin ?? '');
  const interrupted = new AbortController();
  const host: CliHost = {
    ...{ env: env ?? { PODLOOP_SOCKET: agent.socketPath }, pid: 1, selfCommand: ['podloop'] },
    clock: new FakeClock({ nowMs: Date.parse(NOW) }),
    ...{ stdin: input, stdout: collect('stdout'), stderr: collect('stderr') },
    listenForInterrupts: () => interrupted.signal,
    onUserSignal: () => () => undefined,
  };
  return {
    ended: runProgram(args, host).then((code) => ({ code, ...output })),
    interrupt: () => interrupted.abort(),
    sees: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (output.stdout.includes(text)) resolve();
        };
        looks.add(look);
        look();
      }),
  };
}

const podloop = (...args: string[]): Promise<Ran> => start(args).ended;

function pod(name: string, extra: object = {}): object {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:09:00Z',
    },
    spec: { containers: [{ name: 'main', image: 'i' }], nodeName: 'n1' },
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'main', ready: true, restartCount: 0, state: { running: {} } }],
    },
    ...extra,
  };
}

const list = (...items: object[]): object => ({
  kind: 'PodList',
  apiVersion: 'v1',
  metadata: { resourceVersion: '7' },
  items,
});

describe('podloop get', () => {
  it('shows the pods of the default namespace', async () => {
    agent.on(`GET ${PODS}`, () => list(pod('web'), pod('db')));
    expect(await podloop('get', 'pods')).toEqual({
      code: 0,
      stdout:
        'NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          60s\ndb     1/1     Running   0          60s\n',
      stderr: '',
    });
  });

  it('says on standard error that there is nothing', async () => {
    agent.on(`GET ${PODS}`, () => list());
    agent.on('GET /api/v1/pods', () => list());
    expect(await podloop('get', 'po')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No resources found in default namespace.\n',
    });
    expect(await podloop('get', 'po', '-A')).toEqual({ code: 0, stdout: '', stderr: 'No resources found\n' });
  });

  it('sends selectors on, with the forms of flags that kubectl knows', async () => {
    agent.on('GET /api/v1/namespaces/shop/pods', () => list());
    await podloop(
      'get',
      'pods',
      '-n=shop',
      '-l=app=web',
      '--field-selector=status.phase=Running',
      '--watch=false',
    );
    expect(agent.requests.at(-1)?.query).toEqual({
      labelSelector: 'app=web',
      fieldSelector: 'status.phase=Running',
    });
  });

  it('shows what is there, then names everything that is not', async () => {
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    const { code, stdout, stderr } = await podloop('get', 'pod', 'web', 'x', 'y', '-o', 'name');
    expect([code, stdout]).toEqual([1, 'pod/web\n']);
    expect(stderr).toBe(
      'Error from server (NotFound): pods "x" not found\nError from server (NotFound): pods "y" not found\n',
    );
    expect(await podloop('get', 'pod', 'x', '--ignore-not-found')).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('prints one object as it is, and several as a list', async () => {
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    agent.on(`GET ${PODS}`, () => list(pod('web'), pod('db')));
    expect((await podloop('get', 'pod/web', '-o', 'jsonpath={.metadata.name}')).stdout).toBe('web');
    expect((await podloop('get', 'pods', '-o=jsonpath={.items[*].metadata.name}')).stdout).toBe('web db');
    const { stdout } = await podloop('get', 'pods', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      apiVersion: 'v1',
      kind: 'List',
      items: [{ kind: 'Pod' }, { kind: 'Pod' }],
    });
    expect((await podloop('get', 'pod', 'web', '-o', 'yaml')).stdout).toMatch(
      /^metadata:\n {2}creationTimestamp: /,
    );
  });

  it('shows several kinds one below the other', async () => {
    agent.on(`GET ${PODS}`, () => list(pod('web')));
    agent.on('GET /api/v1/namespaces/default/configmaps', () => ({
      kind: 'ConfigMapList',
      items: [{ metadata: { name: 'conf' }, data: { a: '1', b: '2' } }],
    }));
    expect((await podloop('get', 'po,cm')).stdout).toBe(
      'NAME      READY   STATUS    RESTARTS   AGE\npod/web   1/1     Running   0          60s\n\nNAME             DATA   AGE\nconfigmap/conf   2      <unknown>\n',
    );
  });

  it.each([
    [['get'], 'error: You must specify the type of resource to get'],
    [['get', 'deploy'], 'error: the server doesn\'t have a resource type "deploy"'],
    [['get', 'pod', 'a', '-l', 'x=y'], 'error: name cannot be provided when a selector is specified'],
    [['get', 'pod', 'a', '-A'], 'error: a resource cannot be retrieved by name across all namespaces'],
    [['get', 'pod/a', 'b'], 'error: there is no need to specify a resource type as a separate argument'],
    [['get', 'pods', '-o', 'xml'], 'error: unable to match a printer suitable for the output format "xml"'],
    [['get', 'pods', '-o', 'go-template={{.x}}'], 'error: -o go-template is not supported, as it needs Go'],
    [['get', 'pods', '-o', 'jsonpath={.x'], 'error: error parsing jsonpath {.x, unclosed action'],
    [
      ['get', 'pods', '--show-labels', '-o', 'yaml'],
      'error: --show-labels option cannot be used with yaml printer',
    ],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await podloop(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  it('goes on with what changes, a row each, and ends with 130 when it is interrupted', async () => {
    agent.on(`GET ${PODS}`, () => list(pod('web')));
    agent.on(`WATCH ${PODS}`, (_, answer) => {
      answer.write(`${JSON.stringify({ type: 'ADDED', object: pod('web') })}\n`);
      const changed = pod('web', { metadata: { name: 'web', uid: 'uid-web', resourceVersion: '8' } });
      const line = JSON.stringify({ type: 'MODIFIED', object: { ...changed, status: { phase: 'Failed' } } });
      // In two pieces, as a connection may cut them.
      answer.write(line.slice(0, 40));
      answer.write(`${line.slice(40)}\n`);
      return undefined;
    });
    const running = start(['get', 'pods', '-w']);
    await running.sees('Failed');
    running.interrupt();
    expect(await running.ended).toEqual({
      code: 130,
      stdout:
        'NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          60s\nweb    0/1     Failed    0          <unknown>\n',
      stderr: '',
    });
    expect(agent.requests.at(-1)?.query).toEqual({ watch: 'true', resourceVersion: '7' });
  });

  it('says what the agent has against a watch', async () => {
    agent.on(`GET ${PODS}`, () => list());
    agent.on(`WATCH ${PODS}`, (_, answer) => {
      answer.end(
        `${JSON.stringify({ type: 'ERROR', object: { message: 'too old', reason: 'Expired', code: 410 } })}\n`,
      );
      return undefined;
    });
    expect(await podloop('get', 'pods', '-w')).toMatchObject({
      code: 1,
      stderr: 'Error from server (Expired): too old\n',
    });
  });
});

describe('an agent that is not there', () => {
  it('is told of with its socket, and what to do', async () => {
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    const { code, stderr } = await start(['get', 'pods'], { env }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: cannot reach the agent at /nowhere/podloop.sock: is "podloop run" running? Name its socket with --socket or PODLOOP_SOCKET\n',
    );
  });

  it('is looked for at the socket of the flag first', async () => {
    agent.on(`GET ${PODS}`, () => list());
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    expect((await start(['get', 'pods', '--socket', `unix://${agent.socketPath}`], { env }).ended).code).toBe(
      0,
    );
  });
});

it('podloop get all shows the pods with their kind', async () => {
  agent.on(`GET ${PODS}`, () => list(pod('web')));
  expect((await podloop('get', 'all', '--no-headers')).stdout).toBe('pod/web   1/1   Running   0     60s\n');
});

describe('podloop delete', () => {
  it('waits until the pod is gone, and not for another one of its name', async () => {
    let looks = 0;
    agent.on(`DELETE ${PODS}/web`, () => ({ kind: 'Pod', ...pod('web') }));
    agent.on(`GET ${PODS}`, () => (looks++ === 0 ? list(pod('web')) : list()));
    agent.on(`WATCH ${PODS}`, (_, answer) => {
      answer.write(
        `${JSON.stringify({ type: 'DELETED', object: { metadata: { name: 'web', uid: 'another' } } })}\n`,
      );
      answer.write(`${JSON.stringify({ type: 'DELETED', object: pod('web') })}\n`);
      return undefined;
    });
    const { code, stdout } = await podloop('delete', 'pod', 'web', '--grace-period=5');
    expect([code, stdout]).toEqual([0, 'pod "web" deleted from default namespace\n']);
    expect(agent.requests[0]).toMatchObject({ method: 'DELETE', query: { gracePeriodSeconds: '5' } });
  });

  it('says the name that the pod has on its node, and waits for that one', async () => {
    agent.on(`DELETE ${PODS}/web`, () => ({ kind: 'Pod', ...pod('web-n1') }));
    agent.on(`GET ${PODS}/web`, () => pod('web-n1'));
    agent.on(`GET ${PODS}`, () => list());
    const words = 'pod "web-n1" deleted from default namespace';
    expect((await podloop('delete', 'pod', 'web')).stdout).toBe(`${words}\n`);
    expect(agent.requests.at(-1)?.query).toEqual({ fieldSelector: 'metadata.name=web-n1' });
    expect((await podloop('delete', 'pod', 'web', '--dry-run=client')).stdout).toBe(`${words} (dry run)\n`);
    expect((await podloop('delete', 'pod', 'nope', '--dry-run=client')).stderr).toBe(
      'Error from server (NotFound): pods "nope" not found\n',
    );
  });

  it.each([
    [['--now'], '1'],
    [['--grace-period=0'], '1'],
    [['--force'], '0'],
    [[], undefined],
  ])('sends with %j the grace period %s', async (flags, seconds) => {
    agent.on(`DELETE ${PODS}/web`, () => ({ kind: 'Pod', ...pod('web') }));
    await podloop('delete', 'pod/web', '--wait=false', ...flags);
    expect(agent.requests.at(-1)?.query['gracePeriodSeconds']).toBe(seconds);
  });

  it('deletes all that fits, and says when nothing does', async () => {
    agent.on(`GET ${PODS}`, ({ query }) =>
      query['labelSelector'] === 'app=web' ? list(pod('a'), pod('b')) : list(),
    );
    for (const name of ['a', 'b']) agent.on(`DELETE ${PODS}/${name}`, () => ({ kind: 'Pod', ...pod(name) }));
    expect((await podloop('delete', 'pods', '-l', 'app=web', '--wait=false', '-o', 'name')).stdout).toBe(
      'pod/a\npod/b\n',
    );
    expect((await podloop('delete', 'pods', '--all')).stdout).toBe('No resources found\n');
  });

  it.each([
    [['delete'], 'You must provide one or more resources by argument or filename'],
    [['delete', 'pods'], 'resource(s) were provided, but no name was specified'],
    [['delete', 'pod', 'a', '--all'], 'name cannot be provided when --all is specified'],
    [['delete', 'pods', '--all', '-l', 'a=b'], 'cannot set --all and --selector at the same time'],
    [['delete', 'pod', 'a', '--force', '--grace-period=3'], '--force and --grace-period greater than 0'],
    [
      ['delete', 'pod', 'a', '--now', '--grace-period=3'],
      '--now and --grace-period cannot be specified together',
    ],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await podloop(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(`error: ${words}`);
  });
});

describe('podloop apply', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-apply-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const WEB = '{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}';

  it('creates what is not there and changes what is', async () => {
    agent.on(`POST ${PODS}`, (_, answer) => {
      answer.setHeader('podloop-result', 'created');
      return pod('web-n1');
    });
    const run = (): Promise<Ran> => start(['apply', '-f', '-'], { stdin: WEB }).ended;
    expect((await run()).stdout).toBe('pod/web-n1 created\n');
    agent.on(`POST ${PODS}`, (_, answer) => sendStatus(answer, 409, 'AlreadyExists', 'there it is'));
    agent.on(`PUT ${PODS}/web`, (_, answer) => {
      answer.setHeader('podloop-result', 'unchanged');
      return pod('web-n1');
    });
    expect((await run()).stdout).toBe('pod/web-n1 unchanged\n');
    expect(JSON.parse(agent.requests.at(-1)!.body)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
  });

  it('takes folders and Lists, and goes on after an object that is refused', async () => {
    await writeFile(
      join(folder, 'a.yaml'),
      `${WEB}\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: conf}}]}`,
    );
    await writeFile(join(folder, 'notes.txt'), 'no manifest');
    const causes = [
      { field: 'spec.x', message: 'unknown field' },
      { field: 'spec.y', message: 'Required value' },
    ];
    agent.on(`POST ${PODS}`, (_, answer) =>
      sendStatus(answer, 422, 'Invalid', 'Pod "web" is invalid', { kind: 'Pod', name: 'web', causes }),
    );
    agent.on('POST /api/v1/namespaces/default/configmaps', () => ({ metadata: { name: 'conf' } }));
    expect(await podloop('apply', '-f', folder)).toEqual({
      code: 1,
      stdout: 'configmap/conf created\n',
      stderr: 'The Pod "web" is invalid: \n* spec.x: unknown field\n* spec.y: Required value\n',
    });
  });

  it('says of a dry run that it is one', async () => {
    agent.on(`POST ${PODS}`, () => pod('web'));
    expect((await start(['apply', '-f', '-', '--dry-run=server'], { stdin: WEB }).ended).stdout).toBe(
      'pod/web created (server dry run)\n',
    );
    expect(agent.requests.at(-1)?.query).toEqual({ dryRun: 'All' });
    expect((await start(['apply', '-f', '-', '--dry-run=client'], { stdin: WEB }).ended).stdout).toBe(
      'pod/web created (dry run)\n',
    );
    expect(agent.requests.at(-1)).toMatchObject({ method: 'GET' });
  });

  it.each([
    [
      '{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}',
      'no matches for kind "Deployment" in version "apps/v1"',
    ],
    ['{kind: Pod, metadata: {name: d}}', 'error validating data: apiVersion not set'],
    ['a: [', 'error parsing STDIN: line 1'],
    ['- a', 'an object with apiVersion and kind is expected'],
    ['', 'no objects passed to apply'],
  ])('refuses %j', async (stdin, words) => {
    const { code, stderr } = await start(['apply', '-f', '-'], { stdin }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  it('refuses a file that is not there, and none at all', async () => {
    expect((await podloop('apply', '-f', '/nope.yaml')).stderr).toBe(
      'error: the path "/nope.yaml" does not exist\n',
    );
    expect((await podloop('apply')).stderr).toBe('error: must specify one of -f and -k\n');
  });
});

describe('podloop logs', () => {
  const two = { spec: { containers: [{ name: 'main' }, { name: 'side' }] } };

  it('prints the first container’s, and says which that is', async () => {
    agent.on(`GET ${PODS}/web`, () => pod('web', two));
    agent.on(
      `GET ${PODS}/web/log`,
      ({ query }, answer) => void answer.end(`of ${query['container'] ?? ''}\nno end`),
    );
    expect(await podloop('logs', 'web')).toEqual({
      code: 0,
      stdout: 'of main\nno end',
      stderr: 'Defaulted container "main" out of: main, side\n',
    });
  });

  it('says that the agent has ended when it does so in the middle of an answer', async () => {
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    agent.on(`GET ${PODS}/web/log`, (_, answer) => void answer.write('first\n', () => answer.destroy()));
    const { code, stdout, stderr } = await podloop('logs', '-f', 'web');
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'first\n' });
    expect(stderr).toMatch(
      /^error: unexpected EOF: the agent at .* has ended, or its connection has broken\n$/,
    );
  });

  it('asks for what the flags say', async () => {
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    agent.on(`GET ${PODS}/web/log`, (_, answer) => void answer.end());
    await podloop(
      'logs',
      'web',
      '-p',
      '--since=90s',
      '--tail=5',
      '--timestamps',
      '--limit-bytes=9',
      '-c',
      'main',
    );
    expect(agent.requests.at(-1)?.query).toEqual({
      ...{ container: 'main', previous: 'true', sinceSeconds: '90', tailLines: '5' },
      ...{ timestamps: 'true', limitBytes: '9' },
    });
  });

  it('takes a zero for no bound', async () => {
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    agent.on(`GET ${PODS}/web/log`, (_, answer) => void answer.end('all\n'));
    expect((await podloop('logs', 'web', '--since=0s', '--limit-bytes=0')).stdout).toBe('all\n');
    expect(agent.requests.at(-1)?.query).toEqual({ container: 'main' });
  });

  it('keeps lines of several logs whole, with where they come from', async () => {
    agent.on(`GET ${PODS}`, () => list(pod('web', two)));
    agent.on(`GET ${PODS}/web/log`, ({ query }, answer) => {
      answer.write('a');
      answer.write('b\nc');
      answer.end(`d of ${query['container'] ?? ''}\n`);
      return undefined;
    });
    const { stdout } = await podloop('logs', '-l', 'app=web', '--all-containers', '--prefix', '-f');
    expect(stdout.split('\n').sort()).toEqual([
      '',
      ...['[pod/web/main] ab', '[pod/web/main] cd of main'],
      ...['[pod/web/side] ab', '[pod/web/side] cd of side'],
    ]);
    expect(agent.requests.at(-1)?.query['tailLines']).toBe('10');
  });

  it.each([
    [['logs'], "error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'."],
    [['logs', 'web', 'x'], 'error: container x is not valid for pod web out of: main, side'],
    [['logs', 'web', 'x', '-c', 'y'], 'error: only one of -c or an inline [CONTAINER] arg is allowed'],
    [['logs', 'web', '-l', 'a=b'], 'error: only a selector (-l) or a POD name is allowed'],
    [['logs', 'nope'], 'Error from server (NotFound): pods "nope" not found'],
  ])('refuses %j', async (args, words) => {
    agent.on(`GET ${PODS}/web`, () => pod('web', two));
    const { code, stderr } = await podloop(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });
});

describe('podloop exec', () => {
  it.each([
    [['exec', 'web'], 'error: you must specify at least one command for the container'],
    [
      ['exec', 'web', 'ls'],
      'error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead',
    ],
    [['exec', '--', 'ls'], 'error: pod, type/name or --filename must be specified'],
    [
      ['exec', 'done', '--', 'ls'],
      'error: cannot exec into a container in a completed pod; current phase is Succeeded',
    ],
    [['exec', 'web', '--', 'ls'], 'Error from server (NotFound): container not found ("main")'],
  ])('refuses %j', async (args, words) => {
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    agent.on(`GET ${PODS}/done`, () => pod('done', { status: { phase: 'Succeeded' } }));
    agent.on(`GET ${PODS}/web/exec`, (_, answer) =>
      sendStatus(answer, 404, 'NotFound', 'container not found ("main")'),
    );
    const { code, stderr } = await podloop(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });
});

describe('completion', () => {
  const complete = async (...words: string[]): Promise<string[]> =>
    (await podloop('__complete', ...words)).stdout.trimEnd().split('\n');

  it('knows commands, flags and kinds', async () => {
    expect(await complete('des')).toEqual(['describe', ':']);
    expect(await complete('get', '--show')).toEqual(['--show-labels', '--show-kind', ':']);
    expect(await complete('get', '')).toEqual(['configmaps', 'events', 'nodes', 'pods', 'secrets', ':']);
    expect(await complete('get', 'pods', '-o', 'j')).toEqual([
      'json',
      'jsonpath=',
      'jsonpath-file=',
      ':nospace',
    ]);
  });

  it('knows the names that the agent knows', async () => {
    agent.on(`GET ${PODS}`, () => list(pod('web'), pod('db')));
    agent.on(`GET ${PODS}/web`, () => pod('web'));
    expect(await complete('get', 'pods', 'w')).toEqual(['web', ':']);
    expect(await complete('describe', 'pod/d')).toEqual(['pod/db', ':']);
    expect(await complete('logs', '')).toEqual(['web', 'db', ':']);
    expect(await complete('exec', '-it', 'web', '-c', '')).toEqual(['main', ':']);
    expect(await complete('cp', 'd')).toEqual(['db:', ':nospace']);
  });

  it('offers nothing when there is no agent, and files where they are meant', async () => {
    expect((await start(['__complete', 'logs', ''], { env: { PODLOOP_SOCKET: '/nope' } }).ended).stdout).toBe(
      ':\n',
    );
    expect(await complete('apply', '-f', '')).toEqual([':files']);
  });
});
