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

describe('podloop delete', () => {
  it('waits until the pod is gone, and not for another one of its name', async () => {
    let looks = 0;
    agent.on(`DELETE ${PODS_PATH}/web`, () => ({ kind: 'Pod', ...aKubePod('web') }));
    agent.on(`GET ${PODS_PATH}`, () => (looks++ === 0 ? aKubeList(aKubePod('web')) : aKubeList()));
    agent.on(`WATCH ${PODS_PATH}`, (_, answer) => {
      answer.write(
        `${JSON.stringify({ type: 'DELETED', object: { metadata: { name: 'web', uid: 'another' } } })}\n`,
      );
      answer.write(`${JSON.stringify({ type: 'DELETED', object: aKubePod('web') })}\n`);
      return undefined;
    });
    const { code, stdout, stderr } = await podloop('delete', 'pod', 'web', '--grace-period=5');
    expect([code, stdout]).toEqual([0, 'pod "web" deleted from default namespace\n']);
    expect(stderr).toBe('To run it again: podloop start web\n');
    expect(agent.requests[0]).toMatchObject({ method: 'DELETE', query: { gracePeriodSeconds: '5' } });
  });

  it('says the name that the pod has on its node, and waits for that one', async () => {
    agent.on(`DELETE ${PODS_PATH}/web`, () => ({ kind: 'Pod', ...aKubePod('web-n1') }));
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web-n1'));
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
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
    agent.on(`DELETE ${PODS_PATH}/web`, () => ({ kind: 'Pod', ...aKubePod('web') }));
    await podloop('delete', 'pod/web', '--wait=false', ...flags);
    expect(agent.requests.at(-1)?.query['gracePeriodSeconds']).toBe(seconds);
  });

  it('deletes all that fits, and says when nothing does', async () => {
    agent.on(`GET ${PODS_PATH}`, ({ query }) =>
      query['labelSelector'] === 'app=web' ? aKubeList(aKubePod('a'), aKubePod('b')) : aKubeList(),
    );
    for (const name of ['a', 'b'])
      agent.on(`DELETE ${PODS_PATH}/${name}`, () => ({ kind: 'Pod', ...aKubePod(name) }));
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
