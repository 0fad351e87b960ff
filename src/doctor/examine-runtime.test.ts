import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { CallPlaces } from './facts/call-places.js';
import { findChanges, sendsToEveryReader } from './facts/event-witness.js';
import { type ListedContainer, type ListedSandbox } from './runtime-port.js';
import { summarizePopulation } from './summarize-population.js';
import { CallMeter } from './facts/call-meter.js';

const NOW = 1_000_000_000;
const pod = (name: string) => ({ uid: `uid-${name}`, namespace: 'default', name });
const aSandbox = (id: string, changes: Partial<ListedSandbox> = {}): ListedSandbox => ({
  ...{ id, pod: pod(id), attempt: 0, ready: true, createdAtMs: NOW - 1_000, ...changes },
});
const aContainer = (
  id: string,
  sandboxId: string,
  changes: Partial<ListedContainer> = {},
): ListedContainer => ({
  ...{ id, name: 'app', sandboxId, attempt: 0, state: 'running', createdAtMs: NOW - 1_000, ...changes },
});
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CallPlaces', () => {
  it('gives the place of a call that hangs to another one, up to a bound', async () => {
    const clock = new FakeClock();
    const places = new CallPlaces({ clock, atOnce: 1, placeLimitMs: 1_000, mostOutside: 1 });
    const sent: string[] = [];
    const answers = new Map<string, () => void>();
    const send = (name: string): Promise<void> =>
      places.send(() => {
        sent.push(name);
        return new Promise<void>((resolve) => answers.set(name, resolve));
      });
    const all = (async () => {
      for (const name of ['a', 'b', 'c']) await send(name);
    })();
    await nextTurn();
    expect(sent).toEqual(['a']);
    await clock.advance(1_000);
    await nextTurn();
    expect(sent).toEqual(['a', 'b']);
    // Only one may hang outside.
    await clock.advance(5_000);
    await nextTurn();
    expect(sent).toEqual(['a', 'b']);
    answers.get('b')!();
    await nextTurn();
    expect(sent).toEqual(['a', 'b', 'c']);
    answers.get('c')!();
    await all;
    await places.settle();
    answers.get('a')!();
    await places.drain();
  });
});

describe('CallMeter', () => {
  it('tells what hangs from what fails, and shows what is under way', async () => {
    const clock = new FakeClock();
    const meter = new CallMeter(clock);
    const { signal } = new AbortController();
    let answer: (() => void) | undefined;
    const waiting = meter.run(
      { method: 'ContainerStatus', pod: pod('web') },
      signal,
      () =>
        new Promise<string>((resolve) => {
          answer = () => resolve('there');
        }),
    );
    await clock.advance(10);
    expect(meter.underWay()).toMatchObject([{ method: 'ContainerStatus', pod: { name: 'web' }, forMs: 10 }]);
    answer!();
    expect(await waiting).toBe('there');
    for (const code of ['CRI_DEADLINE_EXCEEDED', 'CRI_INTERNAL'] as const) {
      const call = (): Promise<string> => Promise.reject(new PodloopError(code, `it was ${code}`));
      expect(await meter.run({ method: 'Status' }, signal, call)).toBeUndefined();
    }
    expect(meter.calls.map(({ outcome }) => outcome)).toEqual(['ok', 'hung', 'failed']);
    expect(meter.operations()).toMatchObject([
      { method: 'ContainerStatus', count: 1, hung: 0, failed: 0 },
      { method: 'Status', count: 2, hung: 1, failed: 1, lastCode: 'CRI_INTERNAL' },
    ]);
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(
      meter.run({ method: 'Status' }, aborted, () => Promise.reject(new Error('other'))),
    ).rejects.toThrow('enough');
    meter.stop();
  });
});

describe('the population of a node', () => {
  const MINUTE_MS = 60_000;
  const web = (id: string, attempt: number, minutesAgo: number): ListedSandbox =>
    aSandbox(id, { attempt, pod: pod('web'), createdAtMs: NOW - minutesAgo * MINUTE_MS });

  it('is counted, and what was made anew lately is named, most often first', () => {
    const facts = summarizePopulation(
      [
        ...[web('a', 14, 1), web('b', 12, 3), web('c', 1, 60)],
        aSandbox('d', { attempt: 9, createdAtMs: NOW - 3_600_000 }),
      ],
      [
        aContainer('1', 'd', { attempt: 6, state: 'exited' }),
        aContainer('2', 'd', { attempt: 7 }),
        aContainer('3', 'gone', { attempt: 5, state: 'created' }),
        aContainer('4', 'd', { attempt: 5, name: 'sidecar' }),
        aContainer('5', 'a', { attempt: 2 }),
      ],
      NOW,
    );
    expect(facts).toMatchObject({ pods: 2, sandboxes: 4, sandboxesNotReady: 0, containers: 5 });
    expect(facts.containersByState).toEqual({ exited: 1, running: 3, created: 1 });
    expect(facts.sandboxStorms).toEqual([{ pod: pod('web'), attempt: 14, made: 3 }]);
    expect(facts.crashLoopCount).toBe(2);
    expect(facts.crashLoops.map(({ pod: { uid }, container, attempt }) => [uid, container, attempt])).toEqual(
      [
        ['uid-d', 'app', 7],
        ['uid-d', 'sidecar', 5],
      ],
    );
  });

  it('counts sandboxes that came and went while it was looked at', () => {
    const facts = summarizePopulation([web('a', 4, 1)], [], NOW, [web('b', 6, 0)]);
    expect(facts.sandboxStorms).toEqual([{ pod: pod('web'), attempt: 6, made: 3 }]);
  });

  it('takes no node that has started for one on which things end again and again', () => {
    const facts = summarizePopulation(
      [web('new', 12, 1), web('old', 11, 600), aSandbox('first', { attempt: 7 })],
      [aContainer('1', 'new', { attempt: 12 }), aContainer('2', 'first', { attempt: 40, state: 'exited' })],
      NOW,
    );
    expect(facts).toMatchObject({ sandboxStorms: [], crashLoopCount: 0 });
  });
});

describe('changes between two lists', () => {
  it('are containers that came, went, or have another state', () => {
    const sandboxes = [aSandbox('a')];
    const changes = findChanges(
      { sandboxes, containers: [aContainer('same', 'a'), aContainer('ends', 'a'), aContainer('goes', 'a')] },
      {
        sandboxes,
        containers: [
          aContainer('same', 'a'),
          aContainer('ends', 'a', { state: 'exited' }),
          aContainer('comes', 'a'),
        ],
      },
    );
    expect(changes.map(({ id }) => id).sort()).toEqual(['comes', 'ends', 'goes']);
    expect(changes[0]).toMatchObject({ pod: pod('a'), container: 'app' });
  });

  it.each([
    ['containerd', '1.7.24~ds1', false],
    ['containerd', '1.6.20', false],
    ['containerd', 'v2.1.9', true],
    ['containerd', '2.0.0-rc.1', true],
    ['containerd', 'unknown', undefined],
    ['podloop-embedded', '0.1.0', true],
    ['cri-o', '1.30.0', undefined],
  ])('are told to every reader by %s %s: %s', (name, version, expected) => {
    expect(sendsToEveryReader(name, version)).toBe(expected);
  });
});
