import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { cri } from '../cri/index.js';

import { LABELS } from './labels.js';
import { type ListedItem, toListedContainer, toListedSandbox, toObservedPod } from './listed-item.js';
import { PodIndex } from './pod-index.js';
import { type ObservedPod } from './runtime.js';

interface Snapshot {
  readonly sandboxes: readonly cri.PodSandbox[];
  readonly containers: readonly cri.Container[];
}

function newIndex(): PodIndex {
  return new PodIndex({ counters: { unknownEnums: 0 } });
}

/** Puts ids one behind the other, as in an answer, and shows them to the index. */
function show(index: PodIndex, { sandboxes, containers }: Snapshot, stopAfter = Infinity): void {
  index.beginSnapshot();
  let shown = 0;
  for (const [items, add] of [
    [sandboxes, (item: never, start: number, end: number) => index.addSandbox(item, start, end)],
    [containers, (item: never, start: number, end: number) => index.addContainer(item, start, end)],
  ] as const) {
    index.beginAnswer(Buffer.from(items.map(({ id }) => id).join('')));
    let start = 0;
    for (const item of items) {
      if (shown++ >= stopAfter) return;
      const end = start + Buffer.byteLength(item.id);
      if (!index.see(start, end, item.state)) add(item as never, start, end);
      start = end;
    }
  }
}

function apply(index: PodIndex, snapshot: Snapshot): readonly ObservedPod[] {
  show(index, snapshot);
  const finishing = index.finishSnapshot();
  for (;;) {
    const step = finishing.next();
    if (step.done === true) return step.value;
  }
}

/** The same grouping without any memory. */
function group({ sandboxes, containers }: Snapshot): Record<string, ObservedPod> {
  const counters = { unknownEnums: 0 };
  const items = new Map<string, ListedItem>();
  for (const sandbox of sandboxes) items.set(sandbox.id, toListedSandbox(sandbox, counters));
  for (const container of containers) {
    items.set(
      container.id,
      toListedContainer(container, items.get(container.podSandboxId)?.pod.uid, counters),
    );
  }
  const uids = new Set([...items.values()].map(({ pod }) => pod.uid));
  return Object.fromEntries(
    [...uids].map((uid) => [
      uid,
      toObservedPod(
        uid,
        [...items.values()].filter(({ pod }) => pod.uid === uid),
      ),
    ]),
  );
}

function byUid(pods: readonly ObservedPod[]): Record<string, ObservedPod> {
  return Object.fromEntries(pods.map((pod) => [pod.uid, pod]));
}

const state = fc.constantFrom(0, 1, 2, 3, 7) as fc.Arbitrary<0 | 1 | 2 | 3>;
// Immutable fields are derived from the id, as in CRI. Odd pods belong to other programs and have no labels.
const sandboxArbitrary = fc
  .record({ pod: fc.nat(5), attempt: fc.nat(1), state })
  .map(({ pod, attempt, state: now }) =>
    cri.PodSandbox.create({
      id: `s${pod}-${attempt}`,
      state: now as 0 | 1,
      metadata: pod === 5 ? undefined : { uid: `u${pod}`, name: `pod-${pod}`, namespace: 'default', attempt },
      labels: pod % 2 === 0 ? { [LABELS.podUid]: `u${pod}`, [LABELS.podName]: `pod-${pod}` } : {},
      createdAt: BigInt(attempt),
    }),
  );
const containerArbitrary = fc
  .record({ pod: fc.nat(5), attempt: fc.nat(1), number: fc.nat(2), state })
  .map(({ pod, attempt, number, state: now }) =>
    cri.Container.create({
      id: `c${pod}-${attempt}-${number}`,
      podSandboxId: `s${pod}-${attempt}`,
      state: now,
      metadata: { name: `n${number}`, attempt },
      labels: pod % 2 === 0 ? { [LABELS.podUid]: `u${pod}`, [LABELS.podName]: `pod-${pod}` } : {},
      createdAt: BigInt(number),
    }),
  );
const byId = { selector: ({ id }: { id: string }) => id };

describe('the index of pods', () => {
  it('returns after any lists the same grouping as the last list alone, and preserves unchanged objects', () => {
    const snapshot = fc
      .record({
        sandboxes: fc.uniqueArray(sandboxArbitrary, byId),
        containers: fc.uniqueArray(containerArbitrary, byId),
        // Containers in this test always have their sandbox: without it the index knows more than the list
        // says.
        stopAfter: fc.option(fc.nat(6), { nil: undefined }),
      })
      .map(({ sandboxes, containers, stopAfter }) => {
        const ids = new Set(sandboxes.map(({ id }) => id));
        const unlabelled = (container: cri.Container): boolean => Object.keys(container.labels).length === 0;
        return {
          sandboxes,
          containers: containers.filter(
            (container) => !unlabelled(container) || ids.has(container.podSandboxId),
          ),
          stopAfter,
        };
      });
    fc.assert(
      fc.property(fc.array(snapshot, { minLength: 1, maxLength: 6 }), (snapshots) => {
        const index = newIndex();
        let before: Record<string, ObservedPod> = {};
        for (const next of snapshots) {
          // First a list that is abandoned half-way, as by an abort, and then the whole of it.
          if (next.stopAfter !== undefined) show(index, next, next.stopAfter);
          const pods = apply(index, next);
          const now = byUid(pods);
          expect(now).toEqual(group(next));
          expect(Object.keys(now)).toHaveLength(pods.length);
          expect(index.size).toBe(next.sandboxes.length + next.containers.length);
          expect(apply(index, next)).toBe(pods);
          for (const [uid, pod] of Object.entries(now)) {
            const same = (['sandboxes', 'containers'] as const).every(
              (kind) => JSON.stringify(pod[kind], text) === JSON.stringify(before[uid]?.[kind], text),
            );
            // A half-way list may have changed its state and back.
            if (same && next.stopAfter === undefined) expect(before[uid]).toBe(pod);
          }
          before = now;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('builds and forgets a bounded number of pods in one slice, and loses nothing when it is abandoned in between', () => {
    const index = newIndex();
    const sandboxes = Array.from({ length: 1_000 }, (_, number) =>
      cri.PodSandbox.create({ id: `s${number}` }),
    );
    show(index, { sandboxes, containers: [] });
    let slices = 0;
    const finishing = index.finishSnapshot();
    while (finishing.next().done !== true) slices++;
    expect(slices).toBe(5);

    const fewer = { sandboxes: sandboxes.slice(0, 100), containers: [] };
    show(index, fewer);
    // Abandoned after its first slice.
    expect(index.finishSnapshot().next().done).toBe(false);
    expect(apply(index, fewer).map(({ uid }) => uid)).toEqual(fewer.sandboxes.map(({ id }) => id));
    const changed = fewer.sandboxes.map((sandbox) => ({ ...sandbox, state: 1 as const }));
    for (let left = 0; left < 3; left++) {
      show(index, { sandboxes: [...changed, ...sandboxes.slice(100)], containers: [] });
      index.finishSnapshot().next();
    }
    const pods = apply(index, { sandboxes: changed, containers: [] });
    expect(pods).toHaveLength(100);
    expect(pods.every((pod) => pod.sandboxes[0]!.state === 'exited')).toBe(true);
  });

  it('forgets everything on a node that lost everything', () => {
    const index = newIndex();
    apply(index, {
      sandboxes: [cri.PodSandbox.create({ id: 'a' })],
      containers: [cri.Container.create({ id: 'b' })],
    });
    expect(apply(index, { sandboxes: [], containers: [] })).toEqual([]);
    expect(index.size).toBe(0);
    expect(index.find('a')).toBeUndefined();
    expect(index.findItem('b')).toBeUndefined();
  });

  it('counts an id that is listed twice as one', () => {
    const index = newIndex();
    const twice = {
      sandboxes: [cri.PodSandbox.create({ id: 'a' }), cri.PodSandbox.create({ id: 'a' })],
      containers: [],
    };
    expect(apply(index, twice)).toHaveLength(1);
    expect(apply(index, { ...twice, sandboxes: twice.sandboxes.slice(1) })[0]!.sandboxes).toHaveLength(1);
  });
});

function text(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value;
}
