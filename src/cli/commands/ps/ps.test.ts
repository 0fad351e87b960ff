import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aKubeList, aKubePod, AgentCommandHarness } from '#support/harness/agent-command-harness.js';
import { FakeClock } from '#testing/fake-clock.js';

let lab: AgentCommandHarness;
beforeEach(async () => void (lab = await AgentCommandHarness.open()));
afterEach(() => lab[Symbol.asyncDispose]());

const READY = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
const DONE = { status: { phase: 'Succeeded', conditions: [{ type: 'Ready', status: 'False' }] } };
const GOING = { ...READY, metadata: { name: 'c', deletionTimestamp: '2026-01-01T00:09:00Z' } };

function serve(more: object = {}): void {
  const { agent } = lab;
  agent.on('GET /agent', () => ({
    ...{ kind: 'Agent', pid: 77, rootDir: '/r', socket: agent.socketPath, nodeName: 'n1', version: '9' },
    ...{ runtime: { name: 'fake', version: '1' }, startedAt: '2026-01-01T00:08:00Z', manifests: ['/srv/my'] },
    ...{ hasReadManifests: true, problems: [], ...more },
  }));
  agent.on('GET /api/v1/pods', () =>
    aKubeList(aKubePod('a', READY), aKubePod('b', DONE), aKubePod('c', GOING), aKubePod('d')),
  );
}

/** Other agents may run on the machine of the test. */
async function ownLine(...args: string[]): Promise<string[] | undefined> {
  const { stdout } = await lab.start(['ps', ...args]).ended;
  const line = stdout.split('\n').find((each) => each.includes(lab.agent.socketPath));
  return line?.trim().split(/\s{2,}/);
}

describe('podloop ps', () => {
  it('lists an agent with its ready and all pods, age, manifests and socket', async () => {
    serve();
    expect(await ownLine()).toEqual(['77', '2/4', '2m', '/srv/my', lab.agent.socketPath]);
    expect(await ownLine('-o', 'wide')).toEqual([
      ...['77', '2/4', '2m', '/srv/my', lab.agent.socketPath],
      ...['/r', 'n1', 'fake 1', '9'],
    ]);
  });

  it('has a line of headings, or none', async () => {
    serve();
    const first = async (...args: string[]): Promise<string> =>
      (await lab.start(['ps', ...args]).ended).stdout.split('\n')[0]!;
    expect(await first()).toMatch(/^PID +PODS +AGE +MANIFESTS +SOCKET$/);
    expect(await first('--no-headers')).not.toContain('PID');
  });

  it('names the cluster of a node', async () => {
    serve({ manifests: [], kubeconfig: '/etc/k' });
    expect((await ownLine())?.[3]).toBe('cluster of /etc/k');
  });

  it.each(['json', 'yaml'])('prints %s', async (format) => {
    serve();
    const { stdout } = await lab.start(['ps', '-o', format]).ended;
    expect(stdout).toContain(lab.agent.socketPath);
    if (format === 'yaml') return;
    const { items } = JSON.parse(stdout) as { items: { socket: string; pods: object }[] };
    expect(items.find(({ socket }) => socket === lab.agent.socketPath)?.pods).toEqual({ ready: 2, all: 4 });
  });

  it('names an agent that does not answer in time', async () => {
    serve();
    const clock = new FakeClock();
    let passing = Promise.resolve();
    // Commands of other tests ask, too.
    lab.agent.on('GET /api/v1/pods', () => {
      passing = passing.then(async () => clock.advance(5_000));
      return undefined;
    });
    const { code, stdout, stderr } = await lab.start(['ps'], { more: { clock } }).ended;
    expect([code, stdout.includes(lab.agent.socketPath)]).toEqual([0, false]);
    expect(stderr).toContain(
      `The agent at ${lab.agent.socketPath} did not answer within 5s and is not shown: `,
    );
    expect(stderr).not.toContain('No agent runs');
  });

  it.each([
    ['whoever listens there is no agent', () => ({ kind: 'Else' })],
    ['an agent of an older version', undefined],
  ])('leaves out %s', async (_, answer) => {
    if (answer !== undefined) lab.agent.on('GET /agent', answer);
    expect(await ownLine()).toBeUndefined();
  });
});
