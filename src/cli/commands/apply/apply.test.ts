import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
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
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;

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
    agent.on(`POST ${PODS_PATH}`, (_, answer) => {
      answer.setHeader('podloop-result', 'created');
      return aKubePod('web-n1');
    });
    const run = (): Promise<Ran> => lab.start(['apply', '-f', '-'], { stdin: WEB }).ended;
    expect((await run()).stdout).toBe('pod/web-n1 created\n');
    agent.on(`POST ${PODS_PATH}`, (_, answer) => sendStatus(answer, 409, 'AlreadyExists', 'there it is'));
    agent.on(`PUT ${PODS_PATH}/web`, (_, answer) => {
      answer.setHeader('podloop-result', 'unchanged');
      return aKubePod('web-n1');
    });
    expect((await run()).stdout).toBe('pod/web-n1 unchanged\n');
    expect(JSON.parse(agent.requests.at(-1)!.body)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
  });

  it('passes over what only a cluster gives a meaning, and says so', async () => {
    agent.on(`POST ${PODS_PATH}`, () => aKubePod('web-n1'));
    const cluster = ['Namespace', 'ServiceAccount']
      .map((kind) => `{apiVersion: v1, kind: ${kind}, metadata: {name: shop}}\n---\n`)
      .join('');
    const notes =
      'Warning: the Namespace "shop" is accepted without effect: a namespace exists as soon as something is in it\n' +
      'Warning: the ServiceAccount "shop" is accepted without effect: no API server issues tokens for it\n';
    const run = (stdin: string): Promise<Ran> => lab.start(['apply', '-f', '-'], { stdin }).ended;
    const both = await run(cluster + WEB);
    expect(both).toMatchObject({ code: 0, stdout: 'pod/web-n1 created\n', stderr: notes });
    const alone = await run(cluster.replace(/---\n$/, ''));
    expect(alone).toMatchObject({ code: 0, stdout: '', stderr: notes });
  });

  describe('podloop create', () => {
    const create = (...args: string[]): Promise<Ran> =>
      lab.start(['create', '-f', '-', ...args], { stdin: WEB }).ended;

    it('creates what is not there', async () => {
      agent.on(`POST ${PODS_PATH}`, () => aKubePod('web-n1'));
      expect(await create()).toMatchObject({ code: 0, stdout: 'pod/web-n1 created\n' });
    });

    it.each([[[]], [['--dry-run=server']], [['--dry-run=client']]])(
      'fails for what is there, and changes nothing, with %j',
      async (flags) => {
        agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web-n1'));
        agent.on(`POST ${PODS_PATH}`, (_, answer) =>
          sendStatus(answer, 409, 'AlreadyExists', 'pods "web" already exists'),
        );
        const { code, stdout, stderr } = await create(...flags);
        expect([code, stdout]).toEqual([1, '']);
        expect(stderr).toBe(
          'Error from server (AlreadyExists): error when creating "STDIN": pods "web" already exists\n',
        );
        expect(agent.requests.filter(({ method }) => method === 'PUT')).toEqual([]);
      },
    );
  });

  it.each(['created', 'configured', 'unchanged'])('says what the agent says: %s', async (result) => {
    agent.on(`POST ${PODS_PATH}`, (_, answer) => {
      answer.setHeader('podloop-result', result);
      return aKubePod('web-n1');
    });
    const { stdout, code } = await lab.start(['apply', '-f', '-'], { stdin: WEB }).ended;
    expect({ stdout, code }).toEqual({ stdout: `pod/web-n1 ${result}\n`, code: 0 });
  });

  it('creates the Job of a CronJob now', async () => {
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    agent.on('GET /apis/batch/v1/namespaces/default/cronjobs/backup', () => ({
      metadata: { name: 'backup' },
      spec: {
        schedule: '0 3 * * *',
        jobTemplate: {
          metadata: { labels: { app: 'backup' }, annotations: { why: 'disk' } },
          spec: { backoffLimit: 1, template: {} },
        },
      },
    }));
    agent.on(`POST ${jobs}`, ({ body }, answer) => {
      answer.setHeader('podloop-result', 'created');
      return JSON.parse(body) as object;
    });
    expect((await podloop('create', 'job', 'try', '--from=cronjob/backup')).stdout).toBe(
      'job.batch/try created\n',
    );
    expect(JSON.parse(agent.requests.at(-1)!.body)).toEqual({
      ...{ apiVersion: 'batch/v1', kind: 'Job', spec: { backoffLimit: 1, template: {} } },
      metadata: {
        ...{ name: 'try', namespace: 'default', labels: { app: 'backup' } },
        annotations: { why: 'disk', 'cronjob.kubernetes.io/instantiate': 'manual' },
      },
    });
  });

  it.each([
    [
      ['deployment', 'web'],
      'only a Job can be created without -f: podloop create job NAME --from=cronjob/NAME',
    ],
    [['job', 'try'], 'only a Job can be created without -f: podloop create job NAME --from=cronjob/NAME'],
    [
      ['--from=cronjob/a'],
      'only a Job can be created without -f: podloop create job NAME --from=cronjob/NAME',
    ],
    [['job', 'try', '--from=deploy/web'], '--from takes a CronJob, as in cronjob/NAME, not deploy/web'],
  ])('refuses to create %j', async (args, words) => {
    expect(await podloop('create', ...args)).toEqual({ code: 1, stdout: '', stderr: `error: ${words}\n` });
  });

  it('has a name made by the agent for what is created, and not for what is applied', async () => {
    const stdin = WEB.replace('name: web', 'generateName: sum-');
    agent.on(`POST ${PODS_PATH}`, (_, answer) => {
      answer.setHeader('podloop-result', 'created');
      return aKubePod('sum-x2z5k');
    });
    const run = (...args: string[]): Promise<Ran> => lab.start([...args, '-f', '-'], { stdin }).ended;
    expect((await run('create')).stdout).toBe('pod/sum-x2z5k created\n');
    expect(JSON.parse(agent.requests.at(-1)!.body)).toMatchObject({ metadata: { generateName: 'sum-' } });
    expect((await run('create', '--dry-run=client')).code).toBe(0);
    expect(await run('apply')).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: 'error: from sum-: cannot use generate name with apply; podloop create -f STDIN makes a name\n',
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
    agent.on(`POST ${PODS_PATH}`, (_, answer) =>
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
    agent.on(`POST ${PODS_PATH}`, () => aKubePod('web'));
    expect((await lab.start(['apply', '-f', '-', '--dry-run=server'], { stdin: WEB }).ended).stdout).toBe(
      'pod/web created (server dry run)\n',
    );
    expect(agent.requests.at(-1)?.query).toEqual({ dryRun: 'All' });
    expect((await lab.start(['apply', '-f', '-', '--dry-run=client'], { stdin: WEB }).ended).stdout).toBe(
      'pod/web created (dry run)\n',
    );
    expect(agent.requests.at(-1)).toMatchObject({ method: 'GET' });
  });

  it.each([
    [
      '{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: d}}',
      'no matches for kind "Deployment" in version "apps/v1beta1": write apiVersion: apps/v1\n',
    ],
    [
      '{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: d}}',
      'no matches for kind "Ingress" in version "networking.k8s.io/v1": give its Service a nodePort, or run a proxy in a pod with a hostPort, or join a cluster with --kubeconfig',
    ],
    ['{kind: Pod, metadata: {name: d}}', 'error validating data: apiVersion not set'],
    ['a: [', 'error parsing STDIN: line 1'],
    ['- a', 'an object with apiVersion and kind is expected'],
    ['', 'no objects passed to apply'],
  ])('refuses %j', async (stdin, words) => {
    const { code, stderr } = await lab.start(['apply', '-f', '-'], { stdin }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  it('refuses a file that is not there, and none at all', async () => {
    expect((await podloop('apply', '-f', '/nope.yaml')).stderr).toBe(
      'error: the path "/nope.yaml" does not exist\n',
    );
    expect((await podloop('apply')).stderr).toBe(
      'error: must specify -f with a file, a folder, a URL or -; build what is for -k first: kubectl kustomize DIR\n',
    );
  });
});
