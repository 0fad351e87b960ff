import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;

describe('podloop logs', () => {
  const two = { spec: { containers: [{ name: 'main' }, { name: 'side' }] } };

  it('prints the first container’s, and says which that is', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web', two));
    agent.on(
      `GET ${PODS_PATH}/web/log`,
      ({ query }, answer) => void answer.end(`of ${query['container'] ?? ''}\nno end`),
    );
    expect(await podloop('logs', 'web')).toEqual({
      code: 0,
      stdout: 'of main\nno end',
      stderr: 'Defaulted container "main" out of: main, side\n',
    });
  });

  it('says that the agent has ended when it does so in the middle of an answer', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/web/log`, (_, answer) => void answer.write('first\n', () => answer.destroy()));
    const { code, stdout, stderr } = await podloop('logs', '-f', 'web');
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'first\n' });
    expect(stderr).toMatch(
      /^error: unexpected EOF: the agent at .* has ended, or its connection has broken\n$/,
    );
  });

  it('asks for what the flags say', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/web/log`, (_, answer) => void answer.end());
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
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/web/log`, (_, answer) => void answer.end('all\n'));
    expect((await podloop('logs', 'web', '--since=0s', '--limit-bytes=0')).stdout).toBe('all\n');
    expect(agent.requests.at(-1)?.query).toEqual({ container: 'main' });
  });

  it('keeps lines of several logs whole, with where they come from', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web', two)));
    agent.on(`GET ${PODS_PATH}/web/log`, ({ query }, answer) => {
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
    [
      ['pod/web', 'pod/db'],
      ['web/main', 'db/main'],
    ],
    [
      ['web', 'pod/db', '-f'],
      ['web/main', 'db/main'],
    ],
    [
      ['web', 'db', 'web', 'db'],
      ['web/main', 'db/main'],
    ],
    [
      ['pod/web', 'pod/db', '-c', 'side'],
      ['web/side', 'db/side'],
    ],
    [
      ['pod/web', 'pod/db', '--all-containers'],
      ['web/main', 'web/side', 'db/main', 'db/side'],
    ],
  ])(
    'prints the logs of all pods that %j names, each line with where it comes from',
    async (args, sources) => {
      for (const name of ['web', 'db']) {
        agent.on(`GET ${PODS_PATH}/${name}`, () => aKubePod(name, two));
        agent.on(`GET ${PODS_PATH}/${name}/log`, (_, answer) => void answer.end('line\n'));
      }
      const { code, stdout } = await podloop('logs', ...args);
      expect(code).toBe(0);
      const lines = stdout.trimEnd().split('\n');
      expect(lines.sort()).toEqual(sources.map((source) => `[pod/${source}] line`).sort());
    },
  );

  it('says once for each reason why a container that it follows has not started', async () => {
    const clock = new FakeClock();
    const reasons = ['ContainerCreating', 'ContainerCreating', 'a', 'b', 'a', 'b'];
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/web/log`, (_, answer) => {
      const reason = reasons.shift();
      if (reason === undefined) answer.end('started\n');
      else sendStatus(answer, 400, 'BadRequest', `main is waiting to start: ${reason}`);
      return undefined;
    });
    const { ended } = lab.start(['logs', '-f', 'web', '--pod-running-timeout=1h'], { more: { clock } });
    let isOver = false;
    void ended.then(() => (isOver = true));
    const goOn = async (): Promise<boolean> => {
      await clock.advance(1_000);
      return isOver;
    };
    await expect.poll(goOn).toBe(true);
    const { code, stdout, stderr } = await ended;
    expect([code, stdout]).toEqual([0, 'started\n']);
    const lines = ['ContainerCreating', 'a', 'b'].map((reason) => `main is waiting to start: ${reason}`);
    expect(stderr.replaceAll('Error from server (BadRequest): ', '').trimEnd().split('\n')).toEqual(lines);
  });

  describe('through restarts', () => {
    const running = (restartCount: number, phase = 'Running'): object =>
      aKubePod('web', { status: { phase, containerStatuses: [{ name: 'main', restartCount }] } });

    async function follow(states: readonly (object | undefined)[]): Promise<string> {
      const clock = new FakeClock();
      let at = 0;
      agent.on(`GET ${PODS_PATH}/web`, (_, answer) => {
        const state = states[Math.min(at++, states.length - 1)];
        if (state === undefined) sendStatus(answer, 404, 'NotFound', 'pods "web" not found');
        return state;
      });
      let life = 0;
      agent.on(`GET ${PODS_PATH}/web/log`, ({ query }, answer) => {
        answer.end(`life ${++life}, tail ${query['tailLines'] ?? 'all'}\n`);
        return undefined;
      });
      const args = ['logs', '-f', '--through-restarts', '--tail', '3', 'web'];
      const { ended } = lab.start(args, { more: { clock } });
      let isOver = false;
      void ended.then(() => (isOver = true));
      await expect
        .poll(async () => {
          await clock.advance(1_000);
          return isOver;
        })
        .toBe(true);
      const { code, stdout } = await ended;
      expect(code).toBe(0);
      return stdout;
    }

    it.each([
      [
        'goes on with each container',
        [running(0), running(0), running(0), running(1), running(2), running(2, 'Failed')],
        3,
      ],
      ['ends with a pod that has succeeded', [running(0), running(0), running(0, 'Succeeded')], 1],
      ['ends with a pod that is gone', [running(4), running(4), undefined], 1],
      [
        'does not print the log twice of a container that was restarted before',
        [running(7), running(7), running(7), running(7, 'Failed')],
        1,
      ],
    ])('%s', async (_, states, lives) => {
      const all = ['life 1, tail 3', 'life 2, tail all', 'life 3, tail all'];
      expect(await follow(states)).toBe(`${all.slice(0, lives).join('\n')}\n`);
    });

    it.each([[['--through-restarts']], [['--through-restarts', '-f', '-p']]])(
      'is refused with %j',
      async (flags) => {
        const { code, stderr } = await podloop('logs', 'web', ...flags);
        expect([code, stderr]).toEqual([1, 'error: --through-restarts is for -f, and not for --previous\n']);
      },
    );
  });

  it('fails when one of several pods is not there, before it prints anything', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/web/log`, (_, answer) => void answer.end('line\n'));
    const { code, stdout, stderr } = await podloop('logs', 'pod/web', 'pod/nope');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('pods "nope" not found');
  });

  it.each([
    [['logs'], "error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'."],
    [['logs', 'web', 'x'], 'error: container x is not valid for pod web out of: main, side'],
    [['logs', 'web', 'x', '-c', 'y'], 'error: only one of -c or an inline [CONTAINER] arg is allowed'],
    [['logs', 'web', '-l', 'a=b'], 'error: only a selector (-l) or a POD name is allowed'],
    [['logs', 'nope'], 'Error from server (NotFound): pods "nope" not found'],
  ])('refuses %j', async (args, words) => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web', two));
    const { code, stderr } = await podloop(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });
});

describe('what is told of a failure', () => {
  const evil = 'cleared\u001b[2J\u009b2J';

  it('commands no terminal', async () => {
    const { code, stderr } = await podloop('watch', '--runtime-endpoint', `unix://${evil}`);
    expect(code).toBe(1);
    expect(stderr).toContain('did you mean unix:///cleared^[[2J\uFFFD2J?');
    expect(stderr).not.toMatch(/[\u001b\u009b]/);
  });

  it('commands none among logs, either', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/web/log`, (_, answer) => sendStatus(answer, 500, 'InternalError', evil));
    const { stdout } = await podloop('logs', 'web', '--ignore-errors');
    expect(stdout).toContain('cleared^[[2J\uFFFD2J');
    expect(stdout).not.toMatch(/[\u001b\u009b]/);
  });
});
