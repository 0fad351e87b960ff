import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Diagnosis } from '../../../node/doctor/doctor-run.js';
import { VersionResponse } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { CriTestServer } from '#support/clients/cri-test-server.js';
import { FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';
import { anAgentReport } from '#support/builders/node-facts-builder.js';
import { SystemClock } from '#base/time/clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { runProgram } from '../../program.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs `podloop doctor` on a machine that is an empty folder, and interrupts it after so many lines. */
async function doctor(
  args: readonly string[],
  { linesUntilInterrupt = Number.POSITIVE_INFINITY } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = { stdout: '', stderr: '' };
  const interrupted = new AbortController();
  const collect = (name: 'stdout' | 'stderr'): LineOutput => {
    const stream = new PassThrough();
    stream.on('data', (chunk) => {
      output[name] += String(chunk);
      if (output.stdout.split('\n').length > linesUntilInterrupt) interrupted.abort(new Error('interrupted'));
    });
    return new LineOutput(stream);
  };
  const host: CliHost = {
    ...{ env: {}, pid: 1, selfCommand: ['podloop'], clock: new SystemClock(), stdin: new PassThrough() },
    ...{ stdout: collect('stdout'), stderr: collect('stderr') },
    listenForInterrupts: () => interrupted.signal,
    onUserSignal: () => () => undefined,
  };
  const code = await runProgram(['doctor', ...args], host);
  return { code, ...output };
}

const absent = (): string[] => [
  ...['-r', `unix://${folder}/cri.sock`, '--host-root', folder, '--socket', join(folder, 'podloop.sock')],
  ...['--kubelet-url', '', '--healthz-url', '', '--for', '10ms', '--no-disk-write'],
];

describe('podloop doctor', () => {
  it('says what is wrong, the evidence, what to do, and what it does not know', async () => {
    const { code, stdout, stderr } = await doctor(absent());
    expect(code).toBe(2);
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^CRITICAL: 1 critical\. unix:\/\/.*cri\.sock, examined in /);
    expect(lines[2]).toMatch(/^CRITICAL RuntimeSocketMissing: there is no runtime at unix:\/\/.*cri\.sock/);
    expect(lines[3]).toMatch(/^ {2}evidence: \d+ of \d+ attempts failed/);
    expect(stdout).toContain('\n  what to do: Start the runtime');
    expect(stdout).toMatch(
      /^Not seen: the runtime’s conditions, pods, the status of pods, events \(the runtime was not reached\)$/m,
    );
    expect(stdout).toMatch(/^Not seen: processes, shims, .* \(\/proc cannot be read\)$/m);
    expect(stdout).toMatch(/^Not seen: pressure \(the kernel does not measure pressure/m);
    expect(stdout).toMatch(/^Not seen: podloop’s agent \(cannot reach the agent at/m);
  });

  it('says the same as JSON, as YAML and wide', async () => {
    const json = JSON.parse((await doctor([...absent(), '-o', 'json'])).stdout) as Record<string, unknown>;
    expect(Object.keys(json)).toEqual(['time', 'exitCode', 'findings', 'facts']);
    expect(json).toMatchObject({
      exitCode: 2,
      findings: [{ code: 'RuntimeSocketMissing', severity: 'critical' }],
    });
    const yaml = parse((await doctor([...absent(), '-o', 'yaml'])).stdout) as Record<string, unknown>;
    expect(yaml).toMatchObject({ exitCode: 2, findings: [{ code: 'RuntimeSocketMissing' }] });
    expect((await doctor([...absent(), '-o', 'wide'])).stdout).toMatch(/^CALL +COUNT +HUNG +FAILED/m);
  });

  it('reads what podloop’s own agent says, unless that is of another version', async () => {
    await using agent = await FakeAgentServer.start();
    const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };
    const stuckPods = [{ pod, state: 'hung' as const, sinceMs: 1, forMs: 65_000, failures: 2 }];
    agent.on('GET /debug/pleg', () => anAgentReport({ stuckPods, stuckPodCount: 1 }));
    const { stdout } = await doctor([...absent(), '--socket', agent.socketPath, '-o', 'wide']);
    expect(stdout).toMatch(/^WARNING AgentPodStuck: .* pod default\/web for 1m5s: it hangs$/m);
    expect(stdout).toMatch(/^podloop’s agent: +healthy, 60 relists, stuck pods 1, calls in flight 0/m);
    agent.on('GET /debug/pleg', () => ({ kind: 'Status' }));
    const other = await doctor([...absent(), '--socket', agent.socketPath]);
    expect(other.stdout).toMatch(/^Not seen: podloop’s agent \(the agent at .* is of another version\)$/m);
    const { history: _, ...relists } = anAgentReport().relists;
    agent.on('GET /debug/pleg', () => ({ ...anAgentReport(), relists }));
    const older = await doctor([...absent(), '--socket', agent.socketPath]);
    expect(older.stdout).toMatch(/^Not seen: podloop’s agent \(the agent at .* is of another version\)$/m);
  });

  it('looks at the runtime that the agent works with, unless one is named', async () => {
    const version = { runtimeName: 'of the agent', runtimeVersion: '1', runtimeApiVersion: 'v1' };
    await using runtime = await CriTestServer.start({
      handlers: {
        version: (_call, reply) => reply(null, VersionResponse.fromPartial({ ...version, version: '0.1.0' })),
      },
    });
    await using agent = await FakeAgentServer.start();
    const { endpoint } = runtime;
    agent.on('GET /debug/pleg', () => anAgentReport({ runtime: { name: '', version: '', endpoint } }));
    const found = await doctor([...absent().slice(2), '--socket', agent.socketPath, '-o', 'json']);
    const { facts, findings } = JSON.parse(found.stdout) as Diagnosis;
    expect(facts.runtime).toMatchObject({ endpoint, name: 'of the agent', connection: { connected: true } });
    expect(findings.map(({ code }) => code)).not.toContain('RuntimeSocketMissing');
    const named = await doctor([...absent(), '--socket', agent.socketPath]);
    expect(named.stdout).toMatch(/^CRITICAL RuntimeSocketMissing: there is no runtime at .*cri\.sock/m);
  });

  it('does not wait for the rest of what an agent says', async () => {
    await using agent = await FakeAgentServer.start();
    agent.on('GET /debug/pleg', (_, answer) => void answer.write('{"health":'));
    const { code, stdout } = await doctor([...absent(), '--socket', agent.socketPath, '--timeout', '100ms']);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /^Not seen: podloop’s agent \(the agent at .* did not answer whole within 0\.1s\)$/m,
    );
  });

  it('looks again and again until it is interrupted', async () => {
    const { code, stdout } = await doctor([...absent(), '-o', 'json', '--watch=10ms'], {
      linesUntilInterrupt: 2,
    });
    expect(code).toBe(130);
    const lines = stdout.trim().split('\n');
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ exitCode: 2 });
  });

  it.each([
    [['--timeout', 'soon'], 'invalid argument "soon" for "--timeout" flag: use a duration'],
    [['--timeout', '1ms'], 'use 10ms or more'],
    [['-o', 'xml'], 'Allowed choices are text, wide, json, yaml'],
    [['--kubelet-url', 'localhost:10255'], 'use http://HOST:PORT'],
    [['--healthz-url', 'http://me:secret@localhost/healthz'], 'leave name and password out'],
    [['--what'], 'unknown flag: --what'],
    [['--token-file', '/nowhere/token'], '--token-file /nowhere/token cannot be read'],
    [['-r', 'tcp://127.0.0.1:1'], 'tcp is not supported'],
  ])('ends with 3 and says why it cannot look: %s', async (args, words) => {
    const { code, stdout, stderr } = await doctor([...absent(), ...args]);
    expect(stderr).toContain(words);
    expect(stdout).toBe('');
    expect(code).toBe(3);
  });

  describe('pod', () => {
    const object = (name: string, status: object, namespace = 'default'): object => ({
      ...{ metadata: { name, namespace, uid: `uid-${namespace}-${name}` } },
      status: { phase: 'Pending', startTime: '2026-01-01T00:00:00Z', ...status },
    });
    const pulling = {
      containerStatuses: [
        { name: 'app', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
      ],
    };

    async function withPods(items: readonly object[], args: readonly string[]) {
      await using agent = await FakeAgentServer.start();
      agent.on('GET /debug/pleg', () => anAgentReport());
      agent.on('GET /api/v1/pods', () => ({ kind: 'PodList', items }));
      const message = 'Failed to pull image "x"';
      const events = ['Scheduled', 'Failed'].map((reason) => ({
        reason,
        type: reason === 'Failed' ? 'Warning' : 'Normal',
        message,
      }));
      agent.on('GET /api/v1/namespaces/default/events', () => ({ items: events }));
      agent.on('GET /api/v1/namespaces/default/pods/gone', (_, answer) =>
        sendStatus(answer, 404, 'NotFound', 'pod "gone" is stopped; to run it again: podloop start gone'),
      );
      const workload =
        'there is a Deployment of that name: write deployment/shop for one of its pods, or a pod';
      agent.on('GET /api/v1/namespaces/default/pods/shop', (_, answer) =>
        sendStatus(answer, 404, 'NotFound', `pods "shop" not found; ${workload} such as shop-1`),
      );
      const said = await doctor([...args, ...absent(), '--socket', agent.socketPath]);
      const asked = agent.requests.filter(({ path }) => path.endsWith('/events'));
      return { ...said, asked };
    }

    it.each([[['pod', 'web']], [['pod/web']], [['pods', 'web', '-n', 'default']]])(
      'says at which step it stands, since when, why, and what to do: %s',
      async (words) => {
        const { code, stdout, asked } = await withPods([object('web', pulling)], words);
        const lines = stdout.split('\n');
        expect(lines[0]).toMatch(
          /^DOES NOT RUN at pull for .*: container app of pod default\/web stands at pull \(ImagePullBackOff\): no such image$/,
        );
        expect(lines[1]).toBe('  since: 2026-01-01T00:00:00.000Z');
        expect(lines[2]).toBe('  evidence: event Failed (1 time): Failed to pull image "x"');
        expect(lines[3]).toMatch(/^ {2}what to do: See whether the image is named right/);
        expect(lines[4]).toMatch(/^ {2}seen by podloop’s agent and unix:/);
        expect(asked[0]?.query).toEqual({ fieldSelector: 'involvedObject.uid=uid-default-web' });
        // There is no runtime either.
        expect(stdout).toMatch(/^CRITICAL RuntimeSocketMissing/m);
        expect(code).toBe(2);
      },
    );

    it('says the same as JSON', async () => {
      const { stdout } = await withPods([object('web', pulling)], ['pod', 'web', '-o', 'json']);
      expect(JSON.parse(stdout)).toMatchObject({
        exitCode: 2,
        pod: {
          step: 'pull',
          reason: 'ImagePullBackOff',
          container: 'app',
          findings: [{ code: 'RuntimeSocketMissing' }],
        },
      });
    });

    it('ends with 0 for a pod that runs', async () => {
      const running = {
        phase: 'Running',
        containerStatuses: [{ name: 'app', ready: true, started: true, state: { running: {} } }],
      };
      const { code, stdout } = await withPods([object('web', running)], ['pod', 'web']);
      expect(stdout).toMatch(/^RUNS: pod default\/web runs, and each of its containers is ready$/m);
      expect(code).toBe(0);
    });

    it.each<[string, readonly string[], RegExp]>([
      ['that is not there', ['pod', 'db'], /^error: there is no pod db on this node\n$/],
      [
        'that was stopped',
        ['pod', 'gone'],
        /^error: pod "gone" is stopped; to run it again: podloop start gone\n$/,
      ],
      [
        'that is a workload',
        ['pod', 'shop'],
        /^error: pods "shop" not found; there is a Deployment of that name: name one of its pods, such as shop-1\n$/,
      ],
      [
        'of another namespace',
        ['pod', 'web', '-n', 'x'],
        /^error: there is no pod web in namespace x on this node; there is default\/web, prod\/web\n$/,
      ],
      [
        'whose name is there twice',
        ['pod', 'web'],
        /^error: there is more than one pod web: default\/web, prod\/web; choose one with --namespace\n$/,
      ],
      [
        'without its kind',
        ['web'],
        /^error: web is nothing to examine; a pod is named as in "podloop doctor pod web"\n$/,
      ],
      [
        'of another kind',
        ['node/web'],
        /^error: node\/web is no pod; only the node and its pods can be examined: podloop get pods lists these\n$/,
      ],
      ['that are two', ['pod', 'web', 'db'], /^error: name one pod/],
      ['of a namespace alone', ['-n', 'default'], /^error: --namespace needs a pod/],
    ])('ends with 3 for a pod %s', async (_, words, complaint) => {
      const { code, stdout, stderr } = await withPods([object('web', {}), object('web', {}, 'prod')], words);
      expect(stderr).toMatch(complaint);
      expect(stdout).toBe('');
      expect(code).toBe(3);
    });

    it('says that it cannot know where nobody says which pods there are', async () => {
      const { code, stdout } = await doctor(['pod', 'web', ...absent()]);
      expect(stdout).toMatch(
        /^NOT JUDGED: the runtime has nothing of pod web, and neither podloop’s agent nor a kubelet said which pods there are$/m,
      );
      expect(stdout).toMatch(/^CRITICAL RuntimeSocketMissing/m);
      expect(code).toBe(4);
    });
  });

  it('names pods that do not run apart from the health of the node', async () => {
    await using agent = await FakeAgentServer.start();
    agent.on('GET /debug/pleg', () => anAgentReport());
    const status = {
      startTime: '2026-01-01T00:00:00Z',
      containerStatuses: [{ name: 'app', state: { waiting: { reason: 'ErrImagePull' } } }],
    };
    agent.on('GET /api/v1/pods', () => ({
      items: [{ metadata: { name: 'web', namespace: 'default', uid: 'u' }, status }],
    }));
    const { stdout } = await doctor([...absent(), '--socket', agent.socketPath]);
    expect(stdout).toMatch(
      /^INFO PodsWait: 1 pod does not run, for reasons of their own: default\/web \(ErrImagePull\)$/m,
    );
    expect(stdout).toMatch(
      /what to do: See at which step each stands, and why: podloop doctor pod web -n default/,
    );
  });
});
