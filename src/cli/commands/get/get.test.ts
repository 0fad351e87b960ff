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

describe('podloop get', () => {
  it('shows the pods of the default namespace', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web'), aKubePod('db')));
    expect(await podloop('get', 'pods')).toEqual({
      code: 0,
      stdout:
        'NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          60s\ndb     1/1     Running   0          60s\n',
      stderr: '',
    });
  });

  it('says on standard error that there is nothing', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    agent.on('GET /api/v1/pods', () => aKubeList());
    expect(await podloop('get', 'po')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No resources found in default namespace.\n',
    });
    expect(await podloop('get', 'po', '-A')).toEqual({ code: 0, stdout: '', stderr: 'No resources found\n' });
  });

  it('says where there is no pod how many are stopped', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    agent.on('GET /api/v1/pods', () => aKubeList());
    const stop = (namespace: string): object => ({
      kind: 'StoppedPod',
      metadata: { namespace, name: 'web' },
    });
    agent.on('GET /stopped', () => ({ kind: 'StoppedPodList', items: [stop('default'), stop('shop')] }));
    const inOne = '1 pod is stopped; "podloop start" without a name lists them.\n';
    expect((await podloop('get', 'po')).stderr).toBe(`No resources found in default namespace.\n${inOne}`);
    const inAll = '2 pods are stopped; "podloop start" without a name lists them.\n';
    expect((await podloop('get', 'po', '-A')).stderr).toBe(`No resources found\n${inAll}`);
    expect((await podloop('get', 'po', '-l', 'a=b')).stderr).toBe(
      'No resources found in default namespace.\n',
    );
    expect((await podloop('get', 'po', '-o', 'json')).stderr).toBe('');
  });

  it('says of what is no object that it is none', async () => {
    for (const body of ['null', '"pods"', '{"kind":"PodLi']) {
      agent.on(`GET ${PODS_PATH}`, (_request, answer) => void answer.end(body));
      const { code, stdout, stderr } = await podloop('get', 'po');
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/ has not answered GET \S+ with an object in JSON\n$/);
    }
  });

  it('sends selectors on, with the forms of flags that kubectl knows', async () => {
    agent.on('GET /api/v1/namespaces/shop/pods', () => aKubeList());
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
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
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
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web'), aKubePod('db')));
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
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web')));
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
    [['get', 'ingress'], 'error: the server doesn\'t have a resource type "ingress"'],
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

  it.each([
    ['get', 'secrets'],
    ['get', 'secret/key'],
    ['get', 'cm,secrets'],
    ['describe', 'secret/key'],
  ])('shows no Secret: %s %s', async (command, what) => {
    expect(await podloop(command, what)).toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/^error: Secrets are never shown/) as string },
    });
    expect(agent.requests).toEqual([]);
  });

  it('goes on with what changes, a row each, and ends with 130 when it is interrupted', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web')));
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
      answer.write(`${JSON.stringify({ type: 'ADDED', object: aKubePod('web') })}\n`);
      const changed = aKubePod('web', { metadata: { name: 'web', uid: 'uid-web', resourceVersion: '8' } });
      const line = JSON.stringify({ type: 'MODIFIED', object: { ...changed, status: { phase: 'Failed' } } });
      // In two pieces, as a connection may cut them.
      answer.write(line.slice(0, 40));
      answer.write(`${line.slice(40)}\n`);
      return undefined;
    });
    const running = lab.start(['get', 'pods', '-w']);
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
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
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

it('podloop get all shows pods and workloads with their kinds', async () => {
  agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web')));
  const [apps, batch] = ['/apis/apps/v1/namespaces/default', '/apis/batch/v1/namespaces/default'];
  for (const path of [`${apps}/daemonsets`, `${apps}/replicasets`, `${apps}/statefulsets`])
    agent.on(`GET ${path}`, () => aKubeList());
  for (const path of [
    `${batch}/cronjobs`,
    `${batch}/jobs`,
    '/api/v1/namespaces/default/replicationcontrollers',
  ])
    agent.on(`GET ${path}`, () => aKubeList());
  const deployment = { metadata: { name: 'shop' }, spec: { replicas: 2 }, status: { readyReplicas: 1 } };
  agent.on(`GET ${apps}/deployments`, () => ({
    ...{ kind: 'DeploymentList', apiVersion: 'apps/v1', items: [deployment] },
  }));
  const { stdout } = await podloop('get', 'all', '--no-headers');
  expect(stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    ...['pod/web 1/1 Running 0 60s', '', 'deployment.apps/shop 1/2 0 0 <unknown>', ''],
  ]);
});
