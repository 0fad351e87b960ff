import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { AgentCommandHarness, type Ran, type Running } from '#support/harness/agent-command-harness.js';

let lab: AgentCommandHarness;
let home: string;
let pods: string;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  home = await realpath(await mkdtemp(join(tmpdir(), 'podloop-up-')));
  pods = join(home, 'pods');
  await mkdir(pods);
});
afterEach(async () => {
  const pid = Number(await readFile(join(home, 'pid'), 'utf8').catch(() => ''));
  if (pid > 0) process.kill(pid);
  await lab[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
});

/** Stands for `podloop run`: answers as an agent does, with what the test wants. */
const STAND_IN = `
import { createServer } from 'node:http';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const [home, facts, pods, , folder, , rootDir] = process.argv.slice(2);
console.error('started with', process.argv.slice(5).join(' '));
if (facts === 'fails') { console.error('error: unknown option'); process.exit(1); }
writeFileSync(home + '/pid', String(process.pid));
const socket = rootDir + '/podloop.sock';
const agent = { kind: 'Agent', pid: process.pid, rootDir, socket, manifests: [folder], hasReadManifests: true,
  problems: [], startedAt: '', runtime: {}, ...JSON.parse(facts) };
const { jobs = [], sets = [[]], stopped = [], answers = Infinity } = agent;
let asked = 0;
const step = () => existsSync(home + '/step') ? Number(readFileSync(home + '/step')) : 0;
createServer((request, answer) => {
  if (request.url === '/stopped' && stopped === 'fails') return answer.writeHead(500).end('{}');
  if (request.url === '/stopped') return answer.end(JSON.stringify({ items: stopped }));
  if (++asked > answers) { writeFileSync(home + '/silent', ''); return request.socket.destroy(); }
  const items = JSON.parse(pods)[step()];
  const ofSets = { kind: 'StatefulSetList', items: sets[Math.min(step(), sets.length - 1)] };
  const ofJobs = { kind: 'JobList', items: jobs };
  const list = { '/jobs': ofJobs, '/statefulsets': ofSets }[/[/]\\w+$/.exec(request.url)?.[0]] ?? { kind: 'PodList', items };
  answer.end(JSON.stringify(request.url === '/agent' ? agent : list));
}).listen(socket);
`;

const aPod = (name: string, status: object): object => ({
  metadata: { name, namespace: 'default', uid: name },
  status,
});
const madeBy = (kind: string, name: string): object => ({
  metadata: { name, namespace: 'default', uid: name, ownerReferences: [{ kind, name: 'owner' }] },
});
const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const PULLING = { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'Pulling' } } }] };

interface StandIn {
  readonly facts?: object | 'fails';
  /** Its pods, one list after the other as {@link goOn} is called. */
  readonly lists?: readonly (readonly object[])[];
  readonly clock?: SystemClock;
}

async function start(
  args: readonly string[],
  { facts = {}, lists = [[]], clock = new SystemClock() }: StandIn = {},
): Promise<Running> {
  const program = join(home, 'stand-in.mjs');
  await writeFile(program, STAND_IN);
  const programArgs = [home, facts === 'fails' ? facts : JSON.stringify(facts), JSON.stringify(lists)];
  return lab.start(['up', pods, '--root-dir', join(home, 'root'), ...args], {
    env: { HOME: home },
    more: { clock, selfCommand: [process.execPath, program, ...programArgs] },
  });
}

const up = async (args: readonly string[], standIn?: StandIn): Promise<Ran> =>
  (await start(args, standIn)).ended;
const goOn = (step: number): Promise<void> => writeFile(join(home, 'step'), String(step));

describe('podloop up', () => {
  it('starts an agent of the folder, and says where its log is and what ends it', async () => {
    const { code, stdout, stderr } = await up(['--runtime-endpoint', 'embedded']);
    expect([code, stderr]).toEqual([0, '']);
    const root = join(home, 'root');
    const pid = await readFile(join(home, 'pid'), 'utf8');
    expect(stdout.split('\n')).toEqual([
      `The agent of ${pods} runs in the background (pid ${pid})`,
      `Its log:      ${root}/agent.log`,
      `To reach it:  export PODLOOP_SOCKET=${root}/podloop.sock`,
      'To watch it:  podloop get pods -A -w',
      `To end it:    podloop down ${pods}`,
      '',
    ]);
    expect(await readFile(join(root, 'agent.log'), 'utf8')).toContain(
      `run ${pods} --root-dir ${root} --runtime-endpoint embedded`,
    );
  });

  it('says why the agent does not start, and keeps the log of the one before', async () => {
    await mkdir(join(home, 'root'));
    await writeFile(join(home, 'root', 'agent.log'), 'the one before');
    const { code, stderr } = await up(['--nosuch'], { facts: 'fails' });
    expect(code).toBe(1);
    expect(stderr).toBe(
      `error: unknown option\nThe agent ended with 1. Its log: ${join(home, 'root', 'agent.log')}\n`,
    );
    expect(await readFile(join(home, 'root', 'agent.log.1'), 'utf8')).toBe('the one before');
  });

  it('fails when the agent has answered and then does not any more', async () => {
    // An hour passes at once when the agent has fallen silent.
    const clock = new SystemClock();
    const since = clock.monotonicMs.bind(clock);
    clock.monotonicMs = () => since() + (existsSync(join(home, 'silent')) ? 3_600_000 : 0);
    const { code, stderr } = await up([], { facts: { hasReadManifests: false, answers: 1 }, clock });
    const pid = await readFile(join(home, 'pid'), 'utf8');
    const log = join(home, 'root', 'agent.log');
    const words = `error: the agent (pid ${pid}) does not answer any more; it goes on, and its log is ${log}\n`;
    expect([code, stderr]).toEqual([1, words]);
  });

  it('says so when the program itself cannot be started', async () => {
    const selfCommand: readonly [string, ...string[]] = [join(home, 'no-program')];
    const more = { clock: new SystemClock(), selfCommand };
    const args = ['up', pods, '--root-dir', join(home, 'root')];
    const { code, stderr } = await lab.start(args, { env: { HOME: home }, more }).ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: the agent cannot be started: .*ENOENT/),
    ]);
  });

  it('waits until all pods are ready, and says which ones become so', async () => {
    const job = aPod('job', { phase: 'Succeeded' });
    const lists = [[aPod('web', PULLING)], [aPod('web', PULLING), job], [aPod('web', READY), job]];
    const running = await start(['--wait'], { lists });
    await running.sees('is not ready: Pulling');
    await goOn(1);
    await running.sees('has succeeded');
    await goOn(2);
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(5)).toEqual([
      'default/web is not ready: Pulling',
      'default/job has succeeded',
      'default/web is ready',
      '2/2 pods are ready',
      '',
    ]);
  });

  it('waits for pods that a StatefulSet has yet to make', async () => {
    const aSet = (readyReplicas: number): object => ({
      metadata: { name: 'db', namespace: 'default' },
      ...{ spec: { replicas: 2 }, status: { readyReplicas } },
    });
    const [first, second] = [aPod('db-0', READY), aPod('db-1', READY)];
    const standIn = { lists: [[first], [first, second]], facts: { sets: [[aSet(1)], [aSet(2)]] } };
    const late = await up(['--wait', '--timeout', '1ms'], standIn);
    expect([late.code, late.stderr]).toEqual([
      1,
      'error: not ready after 0.001s: default/db (1/2 pods are ready)\n',
    ]);
    await goOn(1);
    const { code, stdout } = await up(['--wait'], standIn);
    expect([code, stdout.split('\n').at(-2)]).toEqual([0, '2/2 pods are ready']);
  });

  it.each([
    ['Failed', 1, 'error: Jobs have failed: default/sum (too many attempts)\n'],
    ['Complete', 0, ''],
  ])('judges a Job by its own end, and not by a pod that failed: %s', async (type, code, stderr) => {
    const attempt = { ...aPod('sum-1', { phase: 'Failed' }), ...madeBy('Job', 'sum-1') };
    const conditions = [{ type, status: 'True', message: 'too many attempts' }];
    const job = { metadata: { name: 'sum', namespace: 'default' }, status: { conditions } };
    const done = await up(['--wait'], { lists: [[attempt]], facts: { jobs: [job] } });
    expect([done.code, done.stderr]).toEqual([code, stderr]);
  });

  it('fails with every problem of the manifests, and where it is', async () => {
    const problems = ['/m/a.yaml:3:5: spec.foo: unknown field', '/m/b.yaml:1:1: cannot be read'];
    const { code, stderr } = await up(['--wait'], { facts: { problems } });
    expect(code).toBe(1);
    for (const problem of problems) expect(stderr).toContain(`error: ${problem}\n`);
  });

  it.each([
    ['a pod has failed', [aPod('job', { phase: 'Failed' })], 'error: pods have failed: default/job\n'],
    [
      'the time is up',
      [aPod('web', PULLING)],
      'not ready after 0.001s: default/web (is not ready: Pulling)\nTo find out why: podloop doctor pod web\n',
    ],
  ])('fails when %s', async (_, list, words) => {
    const { code, stderr } = await up(['--wait', '--timeout', '1ms'], { lists: [list] });
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  it('says each state of a pod that is not ready once', async () => {
    const waiting = (reason: string) =>
      aPod('web', { containerStatuses: [{ state: { waiting: { reason } } }] });
    const job = aPod('job', { phase: 'Succeeded' });
    const lists = [[waiting('ErrImagePull')], [waiting('ImagePullBackOff')], [waiting('ErrImagePull'), job]];
    const running = await start(['--wait'], { lists: [...lists, [aPod('web', READY), job]] });
    await running.sees('ErrImagePull');
    await goOn(1);
    await running.sees('ImagePullBackOff');
    await goOn(2);
    await running.sees('has succeeded');
    await goOn(3);
    const { code, stdout } = await running.ended;
    expect([code, stdout.match(/ErrImagePull/g)]).toEqual([0, ['ErrImagePull']]);
  });

  it('shows what is wrong with manifests', async () => {
    const { code, stderr } = await up(['--wait'], { facts: { problems: ['a.yaml:1:1: no'] } });
    expect(code).toBe(1);
    expect(stderr).toContain('Warning: a.yaml:1:1: no\n');
  });

  it('names pods that were stopped before and stay so', async () => {
    const stopped = [
      { metadata: { name: 'web', namespace: 'default' } },
      { metadata: { name: 'db', namespace: 'shop' } },
    ];
    const { code, stderr } = await up([], { facts: { stopped } });
    expect([code, stderr.split('\n')]).toEqual([
      0,
      [
        'default/web was stopped or deleted; to run it again: podloop start web',
        'shop/db was stopped or deleted; to run it again: podloop start db -n shop',
        '',
      ],
    ]);
  });

  it('does not fail where the agent cannot name those', async () => {
    const { code, stdout, stderr } = await up([], { facts: { stopped: 'fails' } });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('runs in the background');
  });

  it('starts no second agent of a folder', async () => {
    await up([]);
    const before = await readFile(join(home, 'pid'), 'utf8');
    const env = { HOME: home, PODLOOP_SOCKET: join(home, 'root', 'podloop.sock') };
    const { code, stdout } = await lab.start(['up', `${pods}/.`], { env, more: { clock: new SystemClock() } })
      .ended;
    expect([code, stdout]).toEqual([0, `The agent of ${pods} runs already (pid ${before})\n`]);
  });
});

describe('podloop up refuses', () => {
  it('a Compose file, before it starts anything', async () => {
    const file = join(pods, 'compose.yaml');
    await writeFile(file, 'services: { web: { image: nginx } }\n');
    const { code, stderr } = await lab.start(['up', file, '-d']).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: \S*compose\.yaml: a Compose file is no manifest; /);
  });

  it.each([
    [
      ['/nosuch'],
      'error: /nosuch does not exist: make that folder or file of Pod manifests first, or name another one\n',
    ],
    [
      ['--image-dir', 'x'],
      'error: name the folder before the flags of "podloop run": podloop up FOLDER --image-dir\n',
    ],
    [['a', 'b'], 'error: one folder is one agent; for another one: podloop up b\n'],
    [
      ['a', '--image-dir', 'x', '--web'],
      'error: an agent in the background has no terminal for the link of its page; instead: podloop up a, then: podloop web\n',
    ],
    [
      ['--web', 'a'],
      'error: an agent in the background has no terminal for the link of its page; instead: podloop up FOLDER, then: podloop web\n',
    ],
  ])('%j', async (args, words) => {
    const { code, stderr } = await lab.start(['up', ...args]).ended;
    expect([code, stderr]).toEqual([1, words]);
  });
});
