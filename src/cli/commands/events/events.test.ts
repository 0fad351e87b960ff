import { mkdtemp, rm } from 'node:fs/promises';
import { type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Journal } from '../../../history/journal/journal.js';
import { FIRST_KEY } from '../../../history/journal/journal-id.js';
import { type JournalEntry, type JournalRecord } from '../../../history/journal/journal-record.js';
import { JournalStore } from '../../../history/journal/journal-store.js';
import { FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { runProgram } from '../../program.js';

const NOW_MS = Date.parse('2026-01-01T00:10:00Z');
const web = { uid: 'u1', namespace: 'default', name: 'web-n1' };

let folder: string;
let clock: FakeClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-events-test-'));
  clock = new FakeClock({ nowMs: NOW_MS });
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function start(args: readonly string[], socket = join(folder, 'podloop.sock')) {
  const output = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof output): LineOutput => {
    const stream = new PassThrough();
    stream.on('data', (chunk) => void (output[name] += String(chunk)));
    return new LineOutput(stream);
  };
  const interrupted = new AbortController();
  const host: CliHost = {
    ...{ env: { PODLOOP_SOCKET: socket }, pid: 1, selfCommand: ['podloop'], clock },
    ...{ stdin: new PassThrough(), stdout: collect('stdout'), stderr: collect('stderr') },
    listenForInterrupts: () => interrupted.signal,
    onUserSignal: () => () => undefined,
  };
  const ended = runProgram(['events', ...args], host).then((code) => ({ code, ...output }));
  return { output, ended, interrupt: () => interrupted.abort() };
}

const RECORDS: readonly JournalRecord[] = [
  {
    ...{ atMs: NOW_MS - 600_000, kind: 'agent', type: 'Normal', reason: 'AgentStarted', node: 'n1' },
    message: 'podloop works',
  },
  {
    ...{ atMs: NOW_MS - 60_000, kind: 'lifecycle', type: 'Warning', reason: 'ContainerDied', pod: web },
    ...{
      container: 'main',
      message: 'Container main died with exit code 3: Error',
      details: { exitCode: 3 },
    },
  },
  {
    ...{
      atMs: NOW_MS - 10_000,
      kind: 'event',
      type: 'Warning',
      reason: 'BackOff',
      message: 'Back-off',
      pod: web,
    },
    ...{ count: 12, firstAtMs: NOW_MS - 300_000 },
  },
  {
    ...{ atMs: NOW_MS, kind: 'event', type: 'Normal', reason: 'Pulled', message: 'Here', count: 1 },
    pod: { uid: 'u2', namespace: 'other', name: 'db-n1' },
  },
];

describe('podloop events without an agent', () => {
  beforeEach(async () => {
    const limits = { maxBytes: 2 ** 26, maxAgeMs: 1e12 };
    const journal = new Journal({
      ...{ folder: join(folder, 'journal'), nodeName: 'n1', limits, clock, logger: SILENT_LOGGER },
    });
    for (const record of RECORDS) journal.append(record);
    await journal.run(AbortSignal.abort());
  });

  const TABLE = [
    'LAST SEEN             TYPE      REASON          OBJECT       MESSAGE',
    '10m                   Normal    AgentStarted    Node/n1      podloop works',
    '60s                   Warning   ContainerDied   Pod/web-n1   Container main died with exit code 3: Error',
    '10s (x12 over 5m)     Warning   BackOff         Pod/web-n1   Back-off',
  ];

  it('shows the history that lies on the disk, in the columns of kubectl', async () => {
    const { code, stdout, stderr } = await start([]).ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(words(stdout)).toEqual(words(TABLE.join('\n')));
  });

  it.each([
    [['--pod', 'web', '--kinds', 'lifecycle'], ['ContainerDied']],
    [['--pod', 'other/db'], ['Pulled']],
    [['--for', 'pod/db', '-n', 'other'], ['Pulled']],
    [['--for=po/web', '--kinds', 'lifecycle'], ['ContainerDied']],
    [['--uid', 'u2'], ['Pulled']],
    [
      ['-A', '--types', 'normal'],
      ['AgentStarted', 'Pulled'],
    ],
    [['--since', '1m', '--until', '2026-01-01T00:09:30Z'], ['ContainerDied']],
    [['-n', 'other', '-o', 'custom-columns=R:.reason'], ['Pulled']],
  ])('is told which records by %j', async (args, reasons) => {
    const { stdout } = await start([...args, '--no-headers', '-o', 'custom-columns=R:.reason']).ended;
    expect(stdout.trim().split('\n')).toEqual(reasons);
  });

  it('ends with what there is when it watches for a time that is past', async () => {
    const { code, stdout } = await start(['-w', '--until', '30s', '--no-headers', '-o', 'name']).ended;
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 2]);
  });

  it('prints v1 Events for programs', async () => {
    const { stdout } = await start(['--kinds', 'lifecycle', '-o', 'json']).ended;
    const { kind, items } = JSON.parse(stdout) as { kind: string; items: unknown[] };
    const id = `${NOW_MS - 60_000}-1`;
    expect(kind).toBe('List');
    expect(items).toEqual([
      {
        ...{ apiVersion: 'v1', kind: 'Event', type: 'Warning', reason: 'ContainerDied', count: 1 },
        metadata: {
          ...{ namespace: 'default', labels: { 'podloop.dev/kind': 'lifecycle' }, name: `web-n1.${id}` },
          ...{ uid: id, resourceVersion: id, creationTimestamp: '2026-01-01T00:09:00Z' },
        },
        involvedObject: {
          ...{ kind: 'Pod', name: 'web-n1', namespace: 'default', uid: 'u1' },
          fieldPath: 'spec.containers{main}',
        },
        message: 'Container main died with exit code 3: Error',
        ...{ source: { component: 'podloop' }, reportingComponent: 'podloop', details: { exitCode: 3 } },
        ...{ firstTimestamp: '2026-01-01T00:09:00Z', lastTimestamp: '2026-01-01T00:09:00Z' },
        eventTime: '2026-01-01T00:09:00.000000Z',
      },
    ]);
  });

  it('names the node of which records are lost', async () => {
    const store = await JournalStore.open({ folder: join(folder, 'journal') });
    const [, died] = await store.readAfter(FIRST_KEY, 2);
    await store.write([[died![0], died![1].replace('exit code 3', 'exit code 4')]], true);
    await store.close();
    const { stdout } = await start(['--kinds', 'journal', '-o', 'json']).ended;
    const { items } = JSON.parse(stdout) as { items: unknown[] };
    expect(items).toMatchObject([
      { reason: 'RecordsLost', count: 1, involvedObject: { kind: 'Node', name: 'n1' } },
    ]);
    const table = await start(['--kinds', 'journal', '--no-headers']).ended;
    expect(words(table.stdout).slice(0, 5).join(' ')).toMatch(/^10s Warning RecordsLost Node\/n1 1$/);
  });

  it('says so when there is nothing', async () => {
    const nothing = await start(['-n', 'empty']).ended;
    expect(nothing).toEqual({ code: 0, stdout: '', stderr: 'No events found in empty namespace.\n' });
  });

  it('says why when there is no history, or somebody has it', async () => {
    const socket = join(folder, 'elsewhere/podloop.sock');
    const missing = await start([], socket).ended;
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain(`there is no history in ${join(folder, 'elsewhere/journal')}`);
    const other = await JournalStore.open({ folder: join(folder, 'journal') });
    const locked = await start([]).ended;
    await other.close();
    expect(locked.stderr).toContain('is in use, by an agent that starts or ends');
  });

  it.each([
    [['--since', 'soon'], '--since: "soon" is neither a duration'],
    [['--kinds', 'foo'], 'use lifecycle, event'],
    [['--pod', 'a/b/c'], '--pod: "a/b/c" is no pod'],
    [['--for', 'web'], '--for must be in TYPE/NAME form, as in pod/web'],
    [['--for', 'node/n1'], '--for: the history names pods and workloads, and no Node'],
    [['--for', 'pod/web', '--pod', 'db'], '--for and --pod both name a pod'],
    [['--pod', 'a/b', '-n', 'c'], 'is not in the namespace of --namespace, c'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await start(args).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

describe('podloop events of an agent', () => {
  const entry = (number: number, message: string): JournalEntry => ({
    ...{ id: `${NOW_MS}-${number}`, atMs: NOW_MS, kind: 'lifecycle', type: 'Normal' },
    ...{ reason: 'ContainerStarted', message, pod: web },
  });
  const asHistory = (answer: ServerResponse): ServerResponse =>
    answer.setHeader('content-type', 'text/event-stream');
  const toText = (each: JournalEntry): string => `id: ${each.id}\ndata: ${JSON.stringify(each)}\n\n`;

  it('asks for what it was told, and shows it', async () => {
    await using agent = await FakeAgentServer.start();
    agent.on('GET /events', (_, answer) => void asHistory(answer).end(toText(entry(0, 'one'))));
    const args = ['--since', '5m', '--kinds', 'sync,lifecycle', '--pod', 'web', '--no-headers'];
    const { stdout } = await start(args, agent.socketPath).ended;
    expect(words(stdout)).toEqual(words('0s Normal ContainerStarted Pod/web-n1 one'));
    expect(agent.requests[0]!.query).toEqual({
      ...{ follow: 'false', kinds: 'sync,lifecycle', namespace: 'default', pod: 'web' },
      since: String(NOW_MS - 300_000),
    });
  });

  it('goes on behind the last one when the agent was away', async () => {
    await using agent = await FakeAgentServer.start();
    let asked = 0;
    agent.on('GET /events', (_, answer) => {
      asked++;
      asHistory(answer).write(toText(entry(asked, `number ${asked}`)));
      // The first agent dies in the middle of a record.
      if (asked === 1) setImmediate(() => answer.destroy());
      return undefined;
    });
    const command = start(['-w', '--no-headers'], agent.socketPath);
    await expect.poll(() => command.output.stdout).toContain('number 1');
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return command.output.stdout;
      })
      .toContain('number 2');
    command.interrupt();
    expect(await command.ended).toMatchObject({ code: 130, stderr: '' });
    expect(agent.requests.map(({ query }) => query['after'])).toEqual([undefined, `${NOW_MS}-1`]);
  });

  it('says what the agent refuses', async () => {
    await using agent = await FakeAgentServer.start();
    agent.on('GET /events', (_, answer) => sendStatus(answer, 503, 'ServiceUnavailable', 'no disk'));
    const { code, stderr } = await start(['-w'], agent.socketPath).ended;
    expect([code, stderr]).toEqual([1, 'Error from server (ServiceUnavailable): no disk\n']);
  });
});

const words = (text: string): string[] => text.trim().split(/\s+/);
