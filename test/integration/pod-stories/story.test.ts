import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
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
    expect(() => parseStory('x', '# expect: gone')).toThrow('the pod has no name');
  });

  it('tells what to do, what may come, and what the machine has to have', () => {
    const lines = ['may: phase=Running', 'do: in main: echo > /go', 'do: kill main', 'do: edit a -> b'];
    const more = ['do: remove', 'do: put back', 'needs: cgroups', 'event: Normal Killing'];
    const text = [...lines, ...more].map((line) => `# ${line}\n`).join('');
    const { podName, steps, needs, events } = parseStory('x', `${text}metadata: { name: web }`);
    expect(steps).toMatchObject([
      { kind: 'may', text: 'phase=Running' },
      { kind: 'execute', container: 'main', script: 'echo > /go' },
      { kind: 'kill', container: 'main' },
      { kind: 'edit', from: 'a', to: 'b' },
      { kind: 'remove' },
      { kind: 'put back' },
    ]);
    expect([podName, needs, events]).toEqual(['web', ['cgroups'], ['Normal Killing']]);
  });
});

it('a line of a log is a step, and other documents may stand around the pod', () => {
  const text = '# log main: a: b\n# Two words: no more\nkind: ConfigMap\nmetadata: { name: settings }\n---\n';
  const { podName, steps } = parseStory(
    'x',
    `${text}kind: Pod\nmetadata: { name: web }\n---\nkind: Secret\n`,
  );
  expect([podName, steps]).toEqual(['web', [{ kind: 'log', container: 'main', line: 'a: b' }]]);
});

it('every story can be read, and expects something', async () => {
  const folder = new URL('../../stories/', import.meta.url);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  expect(names.length).toBeGreaterThanOrEqual(39);
  for (const name of names) {
    const story = await readStory(new URL(name, folder).pathname);
    expect([name, story.steps.length]).not.toEqual([name, 0]);
  }
});
