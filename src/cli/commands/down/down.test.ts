import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  type Ran,
} from '#support/harness/agent-command-harness.js';

import { FakeClock } from '#testing/fake-clock.js';

let lab: AgentCommandHarness;
beforeEach(async () => void (lab = await AgentCommandHarness.open()));
afterEach(() => lab[Symbol.asyncDispose]());

/** More than a kernel gives. */
const NO_PID = 2 ** 30;

function serve(more: object = {}, outcome: object = { pods: 'stopped' }): void {
  const { agent } = lab;
  agent.on('GET /agent', () => ({
    ...{ kind: 'Agent', pid: NO_PID, rootDir: '/r', socket: agent.socketPath, nodeName: 'n1', version: '1' },
    ...{ runtime: { name: 'fake', version: '1' }, startedAt: '2026-01-01T00:00:00Z', manifests: ['/srv/my'] },
    ...{ hasReadManifests: true, problems: [], ...more },
  }));
  agent.on('GET /api/v1/pods', () => aKubeList(aKubePod('web-n1'), aKubePod('db-n1')));
  agent.on('POST /agent/end', (_, answer) => {
    for (const line of [{ left: ['default/web-n1', 'default/db-n1'] }, { left: ['default/db-n1'] }, outcome])
      answer.write(`${JSON.stringify(line)}\n`);
    answer.end();
    return undefined;
  });
}

const ends = (): number => lab.agent.requests.filter(({ method }) => method === 'POST').length;
const down = (...args: string[]): Promise<Ran> => lab.start(['down', ...args]).ended;

/** At a terminal, where somebody types this. */
function typed(text: string): { readonly more: { readonly stdin: PassThrough } } {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(text);
  return { more: { stdin } };
}

describe('podloop down', () => {
  it('shows what will end, and ends pods and agent', async () => {
    serve();
    const { code, stdout, stderr } = await down('--yes');
    expect([code, stdout]).toEqual([
      0,
      `pod default/web-n1 ended\npod default/db-n1 ended\nThe agent (pid ${NO_PID}) ended\n`,
    ]);
    expect(stderr).toBe(
      `The agent of /srv/my (pid ${NO_PID}) will end.\nThese pods will end (2):\n  default/web-n1\n  default/db-n1\n`,
    );
  });

  it('ends nothing when nobody can be asked', async () => {
    serve();
    const { code, stderr } = await down();
    expect([code, ends()]).toEqual([1, 0]);
    expect(stderr).toContain('error: nobody can be asked, as standard input is no terminal; add --yes\n');
  });

  it.each([
    ['y\n', 0, 1],
    ['YES\n', 0, 1],
    ['n\n', 1, 0],
    ['\n', 1, 0],
    ['yesterday\n', 1, 0],
  ])('asks at a terminal: %j', async (answer, code, ended) => {
    serve();
    const ran = await lab.start(['down'], typed(answer)).ended;
    expect([ran.code, ends()]).toEqual([code, ended]);
    expect(ran.stderr).toContain('End them? [y/N] ');
  });

  it('fails when pods are left', async () => {
    serve({}, { pods: 'not all stopped' });
    expect(await down('-y')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error: not every pod could be stopped, and the agent') as string,
    });
  });

  it('counts no pod that has finished, and says whose data stay', async () => {
    serve();
    const phase = (name: string, is: string): object => aKubePod(name, { status: { phase: is } });
    const withClaim = (name: string, claimName: string): object =>
      aKubePod(name, { spec: { volumes: [{ persistentVolumeClaim: { claimName } }, { emptyDir: {} }] } });
    lab.agent.on('GET /api/v1/pods', () =>
      aKubeList(
        ...[phase('sum-n1', 'Succeeded'), withClaim('db-1', 'data-db-1'), phase('bad-n1', 'Failed')],
        ...[withClaim('db-0', 'data-db-0'), withClaim('backup', 'data-db-0')],
      ),
    );
    lab.agent.on('POST /agent/end', (_, answer) => {
      const lines = [{ left: ['default/sum-n1', 'default/db-0'] }, { left: [] }, { pods: 'stopped' }];
      answer.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return undefined;
    });
    const { stdout, stderr } = await down('-y');
    expect(stdout).toBe(`pod default/db-0 ended\nThe agent (pid ${NO_PID}) ended\n`);
    expect(stderr).toBe(
      [
        `The agent of /srv/my (pid ${NO_PID}) will end.`,
        ...['These pods will end (3):', '  default/db-1', '  default/db-0', '  default/backup'],
        '2 pods have finished already.',
        'The data of claims stay on this node, for the next "podloop up": default/data-db-0, default/data-db-1',
        'To remove such data: delete the pods that use it, then "podloop volumes rm NAME", before the agent ends\n',
      ].join('\n'),
    );
    lab.agent.on('GET /api/v1/pods', () => aKubeList(phase('sum-n1', 'Succeeded')));
    expect((await down('-y')).stderr).toContain('It has no pods that run.\n1 pod has finished already.\n');
    lab.agent.on('GET /volumes', () => aKubeList(aKubePod('of-nobody'), aKubePod('data-db-0')));
    expect((await down('-y')).stderr).toContain('"podloop up": default/of-nobody, default/data-db-0\n');
  });

  it.each([
    ['the agent about itself', 'GET /agent'],
    ['the list of its pods', 'GET /api/v1/pods'],
  ])('says what to do when %s does not come, and ends nothing', async (_, place) => {
    serve();
    const clock = new FakeClock();
    let passing = Promise.resolve();
    // Commands of other tests ask, too.
    lab.agent.on(place, () => {
      passing = passing.then(async () => clock.advance(30_000));
      return undefined;
    });
    const { code, stderr } = await lab.start(['down', '-y'], { more: { clock } }).ended;
    expect([code, ends()]).toEqual([1, 0]);
    expect(stderr).toContain(`Waiting for an answer of the agent at ${lab.agent.socketPath}\n`);
    expect(stderr).toContain(
      `error: the agent at ${lab.agent.socketPath} did not answer within 30s: it may be busy, starting or ending. Try again; `,
    );
    expect(stderr).not.toContain('another node agent');
  });

  it('gives an agent more time that is slow', async () => {
    serve();
    let count = 0;
    const clock = new FakeClock();
    lab.agent.on('GET /api/v1/pods', () => {
      if (count++ > 0) return aKubeList(aKubePod('web-n1'));
      void clock.advance(5_000);
      return undefined;
    });
    const { code, stdout } = await lab.start(['down', '-y'], { more: { clock } }).ended;
    expect([code, ends()]).toEqual([0, 1]);
    expect(stdout).toContain('pod default/web-n1 ended\n');
  });

  it('leaves an agent of systemd to systemd', async () => {
    serve({ serviceManager: 'systemd' });
    const { code, stderr } = await down('-y');
    expect([code, ends()]).toEqual([1, 0]);
    expect(stderr).toContain('systemctl stop');
  });

  it('finds no agent of a folder that nobody runs', async () => {
    serve();
    const { code, stderr } = await down('/nosuch/folder', '-y');
    expect([code, ends()]).toEqual([1, 0]);
    expect(stderr).toContain('error: no agent of /nosuch/folder runs, and none has left pods in ');
  });
});
