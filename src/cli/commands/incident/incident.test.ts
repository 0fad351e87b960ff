import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { RecordHarness } from '#support/harness/record-harness.js';
import { untilTrue } from '#support/until-true.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';
import { incidentCommand } from './incident.js';

const INCIDENT = {
  ...{ version: 1, id: 3, state: 'over', node: 'n1', podloop: '0.1.0' },
  runtime: { endpoint: 'unix:///r.sock', name: 'containerd', version: '2.1.9' },
  ...{ beganAt: '2026-01-02T03:04:05.000Z', endedAt: '2026-01-02T03:04:06.000Z' },
  ...{ recordedFrom: '2026-01-02T03:04:05.000Z', findings: [], recurrences: [], gaps: [] },
};

/** What the page at a link has to show. */
async function readPage(link: string): Promise<RecordedTimeline> {
  const { origin, hash } = new URL(link);
  const key = hash.replace('#key=', '');
  const headers = { origin, 'content-type': 'application/json' };
  const opened = await fetch(`${origin}/session`, { method: 'POST', headers, body: JSON.stringify({ key }) });
  const { token } = (await opened.json()) as { token: string };
  const cookie = opened.headers.get('set-cookie')!.split(';')[0]!;
  expect((await fetch(`${origin}/records`, { headers: { cookie } })).status).toBe(401);
  const answer = await fetch(`${origin}/records`, { headers: { cookie, 'podloop-token': token } });
  return (await answer.json()) as RecordedTimeline;
}

function hostWith(stdout: PassThrough, interrupts = new AbortController().signal): CliHost {
  return {
    ...{ env: {}, pid: 1, clock: new FakeClock(), selfCommand: ['podloop'] },
    ...{
      stdin: new PassThrough(),
      stdout: new LineOutput(stdout),
      stderr: new LineOutput(new PassThrough()),
    },
    listenForInterrupts: () => interrupts,
    onUserSignal: () => () => undefined,
  };
}

async function show(agent: FakeAgentServer): Promise<RecordedTimeline> {
  const stdout = new PassThrough();
  let text = '';
  stdout.on('data', (chunk) => (text += String(chunk)));
  const interrupt = new AbortController();
  const host = hostWith(stdout, interrupt.signal);
  const args = ['show', '3', '--web', '--port', '0', '--socket', agent.socketPath];
  const ended = incidentCommand(host).parseAsync(args, { from: 'user' });
  await untilTrue(() => /#key=\S+\n/.test(text));
  const page = await readPage(/http:\S+/.exec(text)![0]);
  interrupt.abort();
  // Ctrl-C is how a page is ended: the exit code is 0.
  await ended;
  return page;
}

it('shows an incident on a page with what its recording has, which is fetched from the observer', async () => {
  await using agent = await FakeAgentServer.start();
  await using recording = await RecordHarness.start({
    handlers: { removeContainer: (_call, reply) => reply(null, {}) },
  });
  await recording.client.removeContainer({ containerId: 'c1' });
  await recording.proxy.close();
  const bytes = await readFile(recording.file);
  agent.on('GET /incidents/3', () => INCIDENT);
  agent.on('GET /incidents/3/recording', (_, answer) => {
    answer.end(bytes);
    return undefined;
  });
  const sample = { at: '2026-01-02T03:04:05.500Z', kind: 'check', ioFull: 7, stuckPodCount: 0 };
  agent.on('GET /incidents/3/samples', (_, answer) => {
    answer.end(`${JSON.stringify(sample)}\n`);
    return undefined;
  });
  const page = await show(agent);
  expect(page).toMatchObject({ title: 'Incident 3 of n1', notes: [] });
  expect(page.entries.map(({ reason }) => reason)).toEqual(['RemoveContainer']);
  expect(page.measured?.timesMs).toEqual([Date.parse(sample.at)]);
});

it('shows one whose recording is missing, and says so', async () => {
  await using agent = await FakeAgentServer.start();
  agent.on('GET /incidents/3', () => INCIDENT);
  const page = await show(agent);
  expect(page.notes).toEqual([expect.stringMatching(/^Its calls are not shown: /)]);
  expect(page.measured).toBeUndefined();
});

it('exports no part of a recording when the observer ends in the middle', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-export-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  await using agent = await FakeAgentServer.start();
  agent.on('GET /incidents/3', () => INCIDENT);
  agent.on('GET /incidents/3/recording', (_, answer) => {
    answer.writeHead(200, { 'content-length': '1000' });
    answer.write('half', () => answer.destroy());
    return undefined;
  });
  const args = ['export', '3', '-f', join(folder, 'a.plrec'), '--socket', agent.socketPath];
  await expect(
    incidentCommand(hostWith(new PassThrough())).exitOverride().parseAsync(args, { from: 'user' }),
  ).rejects.toThrow('the calls of incident 3 could not be exported: ');
  expect(await readdir(folder)).toEqual([]);
});
