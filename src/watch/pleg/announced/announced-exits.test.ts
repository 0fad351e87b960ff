import { describe, expect, it } from 'vitest';
import { type ObservedPod, type ObservedState, type EventStatuses } from '../../observed/runtime.js';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aPodStatus,
  aSandbox,
  aSandboxStatus,
} from '#testing/builders.js';
import { CHECKED_FOR_MS } from './hint-checks.js';
import {
  findAnnouncedExits,
  compareExits,
  NO_EXITS,
  podWithExits,
  statusWithExits,
} from './announced-exits.js';

type States = Readonly<Record<string, ObservedState>>;

const see = (containers: States, sandbox: ObservedState = 'running'): ObservedPod =>
  aPod({
    sandboxes: [aSandbox({ id: 's', state: sandbox })],
    containers: Object.entries(containers).map(([id, state]) => aContainer({ id, name: id, state })),
  });

const tell = (containers: States, sandbox: ObservedState = 'running'): EventStatuses => {
  const pod = see(containers, sandbox);
  return {
    sandboxes: pod.sandboxes.map((each) => aSandboxStatus(each)),
    containers: pod.containers.map((each) => aContainerStatus(each, { exitCode: 7 })),
  };
};

/** The exits to publish early when an event says that `a` has exited. */
function find(accepted: ObservedPod, told: EventStatuses, known = aPodStatus(accepted)): string[] {
  const ends = findAnnouncedExits({ accepted, known, told, containerId: 'a', nowMs: 5 });
  return [...(ends?.keys() ?? [])];
}

describe('what an event publishes early', () => {
  it.each<[string, States, States, string[]]>([
    ['the end of what ran', { a: 'running' }, { a: 'exited' }, ['a']],
    ['all ends that it shows', { a: 'running', b: 'running' }, { a: 'exited', b: 'exited' }, ['a', 'b']],
    ['an end, beside what goes on', { a: 'running', b: 'running' }, { a: 'exited', b: 'running' }, ['a']],
    [
      'an end, where it is older than another',
      { a: 'running', b: 'exited' },
      { a: 'exited', b: 'running' },
      ['a'],
    ],
    [
      'an end, and nothing of what it is silent about',
      { a: 'running', b: 'created' },
      { a: 'exited' },
      ['a'],
    ],
    ['nothing, when it is late', { a: 'exited' }, { a: 'exited' }, []],
    ['nothing, when it is from before the end', { a: 'exited' }, { a: 'running' }, []],
    ['nothing, when the container runs', { a: 'running' }, { a: 'running' }, []],
    ['nothing of others alone', { a: 'running', b: 'running' }, { a: 'running', b: 'exited' }, []],
    ['nothing of what was not seen to run', { a: 'created' }, { a: 'exited' }, []],
    ['nothing of a container in an unknown state', { a: 'unknown' }, { a: 'exited' }, []],
    ['nothing of a container that nobody has seen', {}, { a: 'exited' }, []],
    ['nothing beside one that nobody has seen', { a: 'running' }, { a: 'exited', b: 'created' }, []],
    ['nothing beside a start', { a: 'running', b: 'created' }, { a: 'exited', b: 'running' }, []],
    [
      'nothing beside what seems to go back',
      { a: 'running', b: 'running' },
      { a: 'exited', b: 'created' },
      [],
    ],
  ])('is %s', (_, accepted, told, ends) => {
    expect(find(see(accepted), tell(told))).toEqual(ends);
  });

  it('is nothing when a sandbox has ended too, or when the sandbox is new', () => {
    const accepted = see({ a: 'running' });
    expect(find(accepted, tell({ a: 'exited' }, 'exited'))).toEqual([]);
    expect(find({ ...accepted, sandboxes: [] }, tell({ a: 'exited' }))).toEqual([]);
    expect(find(see({ a: 'running' }, 'exited'), tell({ a: 'exited' }))).toEqual(['a']);
  });

  it('is nothing for a container whose status was gone already', () => {
    const accepted = see({ a: 'running' });
    expect(find(accepted, tell({ a: 'exited' }), aPodStatus(accepted, { containers: [] }))).toEqual([]);
  });
});

const RUNNING = see({ a: 'running', b: 'running' });
const ENDS = findAnnouncedExits({
  ...{ accepted: RUNNING, known: aPodStatus(RUNNING), told: tell({ a: 'exited' }) },
  ...{ containerId: 'a', nowMs: 1_000 },
})!;

describe('an exit that was published early', () => {
  it('is added to lists and statuses that do not show it, and changes nothing in those that do', () => {
    const pod = podWithExits(RUNNING, ENDS);
    expect(pod).toEqual(see({ a: 'exited', b: 'running' }));
    expect(pod.containers[1]).toBe(RUNNING.containers[1]);
    // The same object in two lists means no change.
    expect(podWithExits(RUNNING, ENDS).containers[0]).toBe(pod.containers[0]);
    expect(podWithExits(pod, ENDS)).toBe(pod);
    expect(podWithExits(RUNNING, NO_EXITS)).toBe(RUNNING);

    const status = statusWithExits(aPodStatus(RUNNING), ENDS);
    expect(status.containers).toMatchObject([
      { id: 'a', state: 'exited', exitCode: 7 },
      { id: 'b', state: 'running' },
    ]);
    // The runtime's answer takes precedence over its event.
    const [a] = pod.containers;
    const answered = aPodStatus(pod, { containers: [aContainerStatus(a, { exitCode: 1 })] });
    expect(statusWithExits(answered, ENDS).containers).toMatchObject([{ exitCode: 1 }]);
  });

  it('is compared with lists that show the container running, until none on its account is left', () => {
    for (const startedMs of [0, 1_000, 1_000 + CHECKED_FOR_MS / 2]) {
      expect(compareExits(ENDS, RUNNING, startedMs)).toEqual({ left: ENDS, refuted: [] });
    }
    const after = compareExits(ENDS, RUNNING, 1_000 + CHECKED_FOR_MS);
    expect(after.left.size).toBe(0);
    expect(after.refuted).toMatchObject([{ container: { id: 'a' } }]);
  });

  it('is done once a list shows it, or no longer shows the container', () => {
    for (const pod of [see({ a: 'exited' }), see({ b: 'running' })]) {
      expect(compareExits(ENDS, pod, 1_000)).toEqual({ left: NO_EXITS, refuted: [] });
    }
  });
});
