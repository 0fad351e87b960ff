import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type V1PodStatus } from '../../../src/model/v1-pod-status.js';
import { parseCondition } from './condition.js';
import { parseStory, readStory } from './story.js';

const STATUS: V1PodStatus = {
  phase: 'Running',
  qosClass: 'BestEffort',
  conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '' }],
  containerStatuses: [
    {
      ...{ name: 'main', ready: true, started: true, image: 'i', imageID: '', restartCount: 2 },
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 3, reason: 'Error', startedAt: null, finishedAt: null } },
    },
  ],
};

describe('a line of a story', () => {
  it.each([
    'phase=Running',
    'ready=true main=waiting:CrashLoopBackOff',
    'main=waiting main.restarts=2',
    'main.restarts=1 main.last=terminated:Error(3)',
    'main.last=terminated main.ready=true main.started=true',
  ])('holds: %s', (text) => {
    expect(parseCondition(text)(STATUS)).toBe(true);
  });

  it.each([
    'phase=Failed',
    'phase=Running main=running',
    'main=waiting:Crash',
    'main.restarts=3',
    'main.last=terminated:Error(30)',
    'other=running',
    'reason=Evicted',
  ])('does not hold: %s', (text) => {
    expect(parseCondition(text)(STATUS)).toBe(false);
  });

  it('that nobody can read is a mistake of the story', () => {
    expect(() => parseCondition('main is running')).toThrow('cannot read');
    expect(() => parseStory('x', '# hope: phase=Running')).toThrow('there is no "# hope:"');
    expect(() => parseStory('x', '# do: dance')).toThrow('nobody can do "dance"');
  });
});

it('every story can be read, and expects something', async () => {
  const folder = new URL('../../stories/', import.meta.url);
  const names = await readdir(folder);
  expect(names.length).toBeGreaterThanOrEqual(20);
  for (const name of names) {
    const story = await readStory(new URL(name, folder).pathname);
    expect([name, story.steps.length]).not.toEqual([name, 0]);
  }
});
