import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { runProgram } from '../../program.js';

const pod = { uid: 'u1', namespace: 'default', name: 'web-n1' };
const RECORDS = [
  { id: '1-1', atMs: 1_000, reason: 'Pulling' },
  { id: '2-1', atMs: 3_000, reason: 'Pulled' },
  { id: '3-1', atMs: 3_250, reason: 'Created' },
].map((each) => ({ ...each, kind: 'event', type: 'Normal', message: '', container: 'main', pod }));

async function blame(args: readonly string[], records: readonly object[] = RECORDS) {
  await using agent = await FakeAgentServer.start();
  agent.on('GET /events', (_, answer) => {
    answer.setHeader('content-type', 'text/event-stream');
    answer.end(records.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(''));
  });
  const output = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof output): LineOutput => {
    const stream = new PassThrough();
    stream.on('data', (chunk) => void (output[name] += String(chunk)));
    return new LineOutput(stream);
  };
  const host: CliHost = {
    ...{ env: { PODLOOP_SOCKET: agent.socketPath }, pid: 1, selfCommand: ['podloop'] },
    ...{ clock: new FakeClock(), stdin: new PassThrough() },
    ...{ stdout: collect('stdout'), stderr: collect('stderr') },
    listenForInterrupts: () => new AbortController().signal,
    onUserSignal: () => () => undefined,
  };
  const code = await runProgram(['blame', ...args], host);
  const rows = output.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
  return { code, ...output, rows, query: agent.requests[0]?.query };
}

it('shows the steps of a pod, and the slowest pods without one', async () => {
  const { rows, query } = await blame(['pod/web']);
  expect(rows).toEqual([
    ['TIME', 'AT', 'STEP', 'CONTAINER'],
    ['2s', '+0s', 'pull', 'main'],
    ['250ms', '+2s', 'create', 'main'],
  ]);
  expect(query).toMatchObject({ pod: 'web', namespace: 'default', follow: 'false' });
  const all = await blame(['-A', '--no-headers']);
  expect(all.rows).toEqual([['default', '2.25s', 'web-n1', 'pull', 'main', '2s']]);
});

it('prints milliseconds for programs', async () => {
  const { stdout } = await blame(['web', '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    kind: 'PodStartList',
    items: [{ name: 'web-n1', durationMs: 2_250, steps: [{ step: 'pull', durationMs: 2_000 }, {}] }],
  });
});

it('says so when the history has no start', async () => {
  expect(await blame(['web'], [])).toMatchObject({
    ...{ code: 1, stderr: 'error: the history has no start of a pod web in default namespace\n' },
  });
  expect(await blame([], [])).toMatchObject({
    code: 0,
    stderr: 'No starts of pods found in default namespace.\n',
  });
});
