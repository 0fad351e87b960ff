import { describe, expect, it } from 'vitest';
import { aContainer, aPod, aSandbox } from '#testing/builders.js';
import { type ObservedPod, type ObservedState } from '../observed/runtime.js';
import { diffPods, diffVanished, endsOf, hasDeath, hasUnreplacedEnd } from './diff.js';

const STATES: readonly (ObservedState | 'absent')[] = ['created', 'running', 'exited', 'unknown', 'absent'];

/** Written from the table that the generator follows: a row for each newer state, older states across. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  running: { absent: 'Started', running: '', exited: 'Started', unknown: 'Started', created: 'Started' },
  exited: { absent: 'Died', running: 'Died', exited: '', unknown: 'Died', created: 'Died' },
  unknown: { absent: 'Changed', running: 'Changed', exited: 'Changed', unknown: '', created: '' },
  created: { absent: 'Changed', running: 'Changed', exited: 'Changed', unknown: '', created: '' },
  absent: {
    absent: '',
    running: 'Died Removed',
    exited: 'Removed',
    unknown: 'Died Removed',
    created: 'Died Removed',
  },
};

const KINDS = ['container', 'sandbox'] as const;

function podWith(kind: (typeof KINDS)[number], state: ObservedState | 'absent'): ObservedPod {
  if (state === 'absent') return aPod({ sandboxes: [], containers: [] });
  return kind === 'container'
    ? aPod({ sandboxes: [], containers: [aContainer({ id: 'x', state })] })
    : aPod({ sandboxes: [aSandbox({ id: 'x', state })], containers: [] });
}

const typesOf = (changes: ReturnType<typeof diffPods>): string =>
  changes.map(({ type }) => type.replace('Container', '')).join(' ');

const PAIRS = KINDS.flatMap((kind) =>
  STATES.flatMap((older) => STATES.map((newer) => ({ kind, older, newer }))),
);

describe('diffPods', () => {
  it.each(PAIRS)('of a $kind that was $older and is $newer follows the table', ({ kind, older, newer }) => {
    const changes = diffPods(podWith(kind, older), podWith(kind, newer));
    expect(typesOf(changes)).toBe(EXPECTED[newer]![older]);
    for (const change of changes) expect(change.container).toMatchObject({ kind, id: 'x' });
  });

  it.each(PAIRS)('of a pod that appears or vanishes with a $kind $older is the same', ({ kind, older }) => {
    if (older === 'absent') {
      expect(diffPods(undefined, undefined)).toEqual([]);
      return;
    }
    const pod = podWith(kind, older);
    expect(typesOf(diffPods(undefined, pod))).toBe(EXPECTED[older]!.absent);
    expect(typesOf(diffPods(pod, undefined))).toBe(EXPECTED.absent![older]);
  });

  it('finds nothing between a list entry and itself, without iterating', () => {
    const pod = aPod();
    const blind = new Proxy(pod, {
      get: () => {
        throw new Error('it looked');
      },
    });
    expect(diffPods(blind, blind)).toEqual([]);
  });

  it('reports what vanished before what exists, and containers before sandboxes', () => {
    const older = aPod({
      sandboxes: [aSandbox({ id: 's0' })],
      containers: [aContainer({ id: 'gone' }), aContainer({ id: 'stays', state: 'created' })],
    });
    const newer = aPod({
      sandboxes: [aSandbox({ id: 's1' })],
      containers: [aContainer({ id: 'stays', state: 'exited' }), aContainer({ id: 'new' })],
    });
    expect(diffPods(older, newer).map(({ type, container }) => `${type} ${container.id}`)).toEqual([
      'ContainerDied gone',
      'ContainerRemoved gone',
      'ContainerDied s0',
      'ContainerRemoved s0',
      'ContainerDied stays',
      'ContainerStarted new',
      'ContainerStarted s1',
    ]);
  });

  it('shows a container as in the newer list, or as in the older one if it is gone', () => {
    const older = podWith('container', 'running');
    const newer = podWith('container', 'exited');
    expect(diffPods(older, newer)[0]?.container).toBe(newer.containers[0]);
    expect(diffPods(older, undefined)[0]?.container).toBe(older.containers[0]);
  });
});

describe('diffVanished', () => {
  it('reports everything that was published before, whatever state it was last seen in', () => {
    const accepted = aPod({
      sandboxes: [],
      containers: [aContainer({ id: 'a' }), aContainer({ id: 'b', state: 'exited' })],
    });
    const seen = aPod({ sandboxes: [], containers: [aContainer({ id: 'a', state: 'exited' })] });
    for (const last of [accepted, seen]) {
      expect(diffVanished(accepted, last).map(({ type, container }) => `${type} ${container.id}`)).toEqual([
        'ContainerDied a',
        'ContainerRemoved a',
        'ContainerRemoved b',
      ]);
    }
  });

  it.each(['created', 'running', 'exited', 'unknown'] as const)(
    'tells of a container that was seen %s and nobody heard of',
    (state) => {
      const seen = aPod({ sandboxes: [], containers: [aContainer({ id: 'new', state })] });
      expect(typesOf(diffVanished(undefined, seen))).toBe('Died Removed');
      expect(typesOf(diffVanished(aPod({ sandboxes: [], containers: [] }), seen))).toBe('Died Removed');
    },
  );
});

describe('deaths', () => {
  it('are found among changes', () => {
    const [running, exited] = [podWith('container', 'running'), podWith('container', 'exited')];
    expect(hasDeath(diffPods(running, exited))).toBe(true);
    expect(hasDeath(diffPods(running, undefined))).toBe(true);
    expect(hasDeath(diffPods(exited, running))).toBe(false);
    expect(hasDeath(diffPods(exited, undefined))).toBe(false);
    expect(hasDeath([])).toBe(false);
  });

  it('of containers that were never published come with their removal', () => {
    expect(typesOf(endsOf([aContainer(), aSandbox()]))).toBe('Died Removed Died Removed');
  });
});

describe('an end that nothing has replaced', () => {
  const pod = (...containers: [id: string, name: string, state: ObservedState][]): ObservedPod =>
    aPod({
      sandboxes: [aSandbox({ id: 's1' })],
      containers: containers.map(([id, name, state], at) =>
        aContainer({ id, name, state, createdAtNs: BigInt(at) }),
      ),
    });

  it.each<[string, ObservedPod, boolean]>([
    ['that nothing follows', pod(['1', 'a', 'running'], ['2', 'b', 'exited']), true],
    ['that the same name runs after', pod(['1', 'a', 'exited'], ['2', 'a', 'running']), false],
    ['that the same name ran before', pod(['1', 'a', 'running'], ['2', 'a', 'exited']), true],
    ['that the same name was made after', pod(['1', 'a', 'exited'], ['2', 'a', 'created']), false],
    ['that there is none of', pod(['1', 'a', 'running']), false],
    ['of a sandbox', { ...pod(), sandboxes: [aSandbox({ state: 'exited' })] }, true],
  ])('is one %s', (_, observed, isOne) => {
    expect(hasUnreplacedEnd(observed)).toBe(isOne);
  });
});
