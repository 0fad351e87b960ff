import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { readWaitCondition } from './wait-condition.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;
const aPod = (name: string, more: object = {}) => ({ kind: 'Pod', ...aKubePod(name), ...more });
const ready = (status: string) => ({ status: { phase: 'Running', conditions: [{ type: 'Ready', status }] } });

describe('podloop wait', () => {
  it('waits until a condition is as wanted', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aPod('web-vm'));
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aPod('web-vm', ready('False'))));
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
      answer.write(`${JSON.stringify({ type: 'MODIFIED', object: aPod('web-vm', ready('True')) })}\n`);
      return undefined;
    });
    expect(await podloop('wait', 'pod/web', '--for=condition=ready')).toMatchObject({
      code: 0,
      stdout: 'pod/web-vm condition met\n',
    });
  });

  it('counts no pod that has just gone as ready', async () => {
    let reads = 0;
    agent.on(`GET ${PODS_PATH}/web`, () => aPod('web'));
    agent.on(`GET ${PODS_PATH}`, () =>
      reads++ === 0 ? aKubeList(aPod('web', ready('False'))) : aKubeList(),
    );
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
      if (reads === 1)
        answer.write(`${JSON.stringify({ type: 'DELETED', object: aPod('web', ready('True')) })}\n`);
      return undefined;
    });
    const running = lab.start(['wait', 'pod/web', '--for=condition=Ready']);
    while (agent.requests.filter(({ path }) => path === PODS_PATH).length < 2)
      await new Promise((resolve) => setImmediate(resolve));
    running.interrupt();
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
  });

  it('looks once with a timeout of 0, and fails when that is not enough', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aPod('web'));
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aPod('web', ready('False'))));
    const { code, stderr } = await podloop('wait', 'pod', 'web', '--for=condition=Ready', '--timeout=0s');
    expect([code, stderr]).toEqual([1, 'error: timed out waiting for the condition on pods/web\n']);
    expect((await podloop('wait', 'pod', 'web', '--for=condition=Ready=false', '--timeout=0s')).code).toBe(0);
  });

  it('waits for the end of a pod, and takes one that is not there for gone', async () => {
    expect(await podloop('wait', 'pod/web', '--for=delete')).toMatchObject({ code: 0, stdout: '' });
    agent.on(`GET ${PODS_PATH}/web`, () => aPod('web'));
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    expect((await podloop('wait', 'pod/web', '--for=delete')).stdout).toBe('pod/web condition met\n');
  });

  it('waits for a pod that is not there yet', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aPod('web-vm'));
    expect((await podloop('wait', 'pod/web', '--for=create')).stdout).toBe('pod/web condition met\n');
  });

  it.each([
    [['wait', 'pod/web'], 'name what to wait for, as in --for=condition=Ready or --for=delete'],
    [['wait', '--for=delete'], 'name what to wait for, as in "podloop wait pod/web"'],
    [['wait', 'pods', '--for=delete'], 'resource(s) were provided, but no name was specified'],
    [['wait', 'pods', '--all', '--for=condition=Ready'], 'no matching resources found'],
  ])('%j is refused', async (args, words) => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    expect(await podloop(...args)).toMatchObject({ code: 1, stderr: `error: ${words}\n` });
  });

  it('says that an object is not there', async () => {
    const { code, stderr } = await podloop('wait', 'pod/nope', '--for=condition=Ready');
    expect([code, stderr]).toEqual([1, 'Error from server (NotFound): pods "nope" not found\n']);
  });
});

describe('a wait condition', () => {
  const POD = {
    metadata: { name: 'web', labels: { app: 'web' } },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'PodScheduled', status: 'False' },
      ],
      containerStatuses: [{ restartCount: 3 }],
    },
  };

  it.each([
    ['create', true],
    ['delete', false],
    ['condition=Ready', true],
    ['condition=ready=true', true],
    ['condition=Ready=False', false],
    ['condition=PodScheduled', false],
    ['condition=PodScheduled=false', true],
    ['condition=Missing', false],
    ['jsonpath={.status.phase}=Running', true],
    ["jsonpath='{.status.phase}'=Running", true],
    ['jsonpath=.status.phase=Running', true],
    ['jsonpath={.status.phase}=Failed', false],
    ['jsonpath={.status.phase}', true],
    ['jsonpath={.status.reason}', false],
    ['jsonpath={.status.containerStatuses[0].restartCount}=3', true],
    ['jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', true],
    ['JSONPATH={.metadata.labels.app}="web"', true],
  ])('%s is met: %s', (text, isMet) => {
    expect(readWaitCondition(text).isMet(POD)).toBe(isMet);
  });

  it.each([
    ['ready', 'unrecognized condition: "ready": use delete, create'],
    ['condition=', 'condition must be NAME or NAME=VALUE'],
    ['condition=a=b=c', 'condition must be NAME or NAME=VALUE'],
    ['jsonpath=', 'jsonpath wait expression cannot be empty'],
    ['jsonpath={.a}=', 'jsonpath wait has to have a value after equal sign'],
    ['jsonpath={.a', 'error parsing jsonpath {.a'],
  ])('%s is refused', (text, words) => {
    expect(() => readWaitCondition(text)).toThrow(words);
  });
});
