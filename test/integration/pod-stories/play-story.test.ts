import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { podStatusChanged } from '../../../src/node/status/status-changes.js';
import { findForbidden, playStory, type StoryNode } from './play-story.js';
import { readLogLines, toLines } from './read-log-lines.js';
import { StatusHistory } from './status-history.js';
import { parseStory, type Story } from './story.js';

let folder: string;
let done: string[];
let limit: AbortController;
let history: StatusHistory;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-play-'));
  done = [];
  limit = new AbortController();
  history = new StatusHistory();
});

afterEach(async () => {
  history[Symbol.dispose]();
  await rm(folder, { recursive: true });
});

/** The agent says that of the pod. */
function tell(phase: V1PodStatus['phase'] | 'gone', name = 'web'): void {
  const pod = { uid: `uid-${name}`, namespace: 'default', name };
  if (phase === 'gone') {
    podStatusChanged.publish({ type: 'removed', pod });
    return;
  }
  const status: V1PodStatus = { phase, qosClass: 'BestEffort', conditions: [], containerStatuses: [] };
  podStatusChanged.publish({ type: 'status', record: { pod, status, version: 1, isFinished: false } });
}

function storyOf(...lines: string[]): Story {
  return parseStory('1-web', `${lines.map((line) => `# ${line}\n`).join('')}metadata: { name: web }`);
}

async function play(
  story: Story,
  execute: StoryNode['execute'] = async () => undefined,
  logOf: StoryNode['logOf'] = async () => [],
) {
  const node: StoryNode = {
    manifestFolder: folder,
    eventsOf: () => ['Normal Started'],
    kill: async (...[pod, container]) => void done.push(`kill ${pod} ${container}`),
    execute,
    logOf,
  };
  return playStory(story, { node, history, toNodeName: (name) => name, signal: limit.signal });
}

it('a status that lasts for no time at all is not missed', async () => {
  const outcome = play(
    storyOf('expect: phase=Pending', 'expect: phase=Running', 'do: remove', 'expect: gone'),
  );
  for (const phase of ['Pending', 'Running', 'Failed', 'gone', 'Pending'] as const) tell(phase);
  expect((await outcome).problems).toEqual([]);
  expect(await readdir(folder)).toEqual([]);
});

it('what comes in another order, or of another pod, is in vain waited for, and everything seen is told', async () => {
  const outcome = play(storyOf('expect: phase=Running', 'may: phase=Failed', 'expect: phase=Pending'));
  for (const phase of ['Pending', 'Running'] as const) tell(phase);
  tell('Pending', 'other');
  await Promise.resolve();
  limit.abort();
  const { problems, timeline } = await outcome;
  expect(problems).toEqual(['in vain expected: phase=Pending (before it may come: phase=Failed)']);
  expect(timeline.map((line) => line.replace(/^ +[\d.]+ s {2}/, ''))).toEqual([
    'the manifest is put down',
    '  phase=Pending ready=false',
    '  phase=Running ready=false',
    'as expected: phase=Running',
    'events: Normal Started',
  ]);
});

it('what cannot be done, and an event that does not come, are problems of the story', async () => {
  const story = storyOf('do: kill main', 'event: Warning BackOff', 'do: in main: exit 3');
  const { problems } = await play(story, async () => Promise.reject(new Error('it ended with 3')));
  expect(problems).toEqual(['it ended with 3', 'no event: Warning BackOff']);
  expect(done).toEqual(['kill web main']);
});

it('a line that the container writes later is waited for', async () => {
  const logs = [[], ['good'], ['good', 'good day']];
  const log = storyOf('log main: good day');
  const { problems, timeline } = await play(log, undefined, async () => logs.shift() ?? []);
  expect(problems).toEqual([]);
  expect(timeline[1]).toContain('as expected: main says "good day"');
});

it('a line that was not written by the end of the pod is a problem, and all that was written is told', async () => {
  const outcome = play(storyOf('log main: good'), undefined, async () => ['good day', 'bye']);
  tell('Succeeded');
  const { problems, timeline } = await outcome;
  expect(problems).toEqual(['in vain expected: main says "good"']);
  expect(timeline.join()).toContain('main: bye');
});

it('a log has its lines whole, in all lives of the container', async () => {
  expect(toLines('t stdout P on\nt stderr F two\nt stdout F e\nt stdout F\nt stdout P rest\n')).toEqual([
    ...['two', 'one', '', 'rest'],
  ]);
  await writeFile(join(folder, '10.log'), 't stdout F second\n');
  await writeFile(join(folder, '9.log'), 't stdout F first\n');
  expect(await readLogLines(folder)).toEqual(['first', 'second']);
  expect(await readLogLines(join(folder, 'none'))).toEqual([]);
});

it('what is never to be counts wherever it is seen', () => {
  const story = storyOf('never: phase=Failed', 'never: phase=Unknown');
  for (const phase of ['Running', 'Failed', 'Running'] as const) tell(phase);
  expect(findForbidden(story, history.of('web'))).toEqual(['never: phase=Failed']);
});
