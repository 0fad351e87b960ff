import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { changedUids, diffPods, type PodSet } from './diff-pods.js';
import { judgeByContent, judgeByManifest } from './manifests/judge-pod.js';

const HASH = 'podloop.dev/manifest-hash';

interface PodSketch {
  readonly uid: string;
  readonly name: string;
  readonly hash?: string;
  readonly image?: string;
  readonly deleted?: boolean;
  readonly status?: string;
}

function pod({ uid, name, hash, image = 'a', deleted = false, status }: PodSketch): NodePod {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ uid, name, namespace: 'default' },
      ...(hash === undefined ? {} : { annotations: { [HASH]: hash } }),
      ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { containers: [{ name: 'a', image }] },
    ...(status === undefined ? {} : { status }),
  };
}

const setOf = (...pods: NodePod[]): PodSet => new Map(pods.map((each) => [each.metadata.uid, each]));
const typesOf = (known: PodSet, wanted: PodSet, judge = judgeByContent): string[] =>
  diffPods(known, wanted, judge).changes.map(
    ({ type, pods }) => `${type} ${pods.map(({ metadata }) => metadata.name).join(',')}`,
  );

describe('the difference of two sets of pods', () => {
  const web = pod({ uid: '1', name: 'web' });

  it('is nothing for the same pods, and leaves the objects that were known', () => {
    const known = setOf(web);
    const difference = diffPods(known, setOf(pod({ uid: '1', name: 'web' })), judgeByContent);
    expect(difference.changes).toEqual([]);
    expect(difference.known.get('1')).toBe(web);
  });

  it('has removals first, then additions, updates, deletions and what is to be reconciled', () => {
    const known = setOf(
      pod({ uid: 'r', name: 'r', status: 'x' }),
      ...[pod({ uid: 'd', name: 'd' }), pod({ uid: 'u', name: 'u' }), pod({ uid: 'gone', name: 'gone' })],
    );
    const wanted = setOf(
      pod({ uid: 'r', name: 'r', status: 'y' }),
      pod({ uid: 'd', name: 'd', deleted: true }),
      pod({ uid: 'u', name: 'u', image: 'b' }),
      pod({ uid: 'n', name: 'n' }),
      pod({ uid: 'm', name: 'm', deleted: true }),
    );
    expect(typesOf(known, wanted)).toEqual(['REMOVE gone', 'ADD n,m', 'UPDATE u', 'DELETE d', 'RECONCILE r']);
    expect(changedUids(diffPods(known, wanted, judgeByContent))).toEqual(
      new Set(['gone', 'n', 'm', 'u', 'd', 'r']),
    );
  });

  it('removes and adds a pod that keeps its uid under another name', () => {
    expect(typesOf(setOf(web), setOf(pod({ uid: '1', name: 'other' })))).toEqual(['REMOVE web', 'ADD other']);
  });

  it('goes by the hash of the manifest, whatever else is filled in', () => {
    const known = setOf(pod({ uid: '1', name: 'web', hash: 'h1', image: 'a' }));
    const next = (hash: string, image: string): PodSet => setOf(pod({ uid: '1', name: 'web', hash, image }));
    expect(typesOf(known, next('h1', 'filled in by a newer version'), judgeByManifest)).toEqual([]);
    expect(typesOf(known, next('h2', 'a'), judgeByManifest)).toEqual(['UPDATE web']);
    expect(typesOf(known, setOf(pod({ uid: '1', name: 'web', image: 'a' })), judgeByManifest)).toEqual([
      'UPDATE web',
    ]);
  });

  it('goes by the content where nobody gave a hash', () => {
    expect(typesOf(setOf(web), setOf(pod({ uid: '1', name: 'web' })), judgeByManifest)).toEqual([]);
    expect(typesOf(setOf(web), setOf(pod({ uid: '1', name: 'web', image: 'b' })), judgeByManifest)).toEqual([
      'UPDATE web',
    ]);
  });

  it('leads from any set to any other', () => {
    const sketch = fc.record({
      ...{ uid: fc.constantFrom('1', '2', '3', '4'), name: fc.constantFrom('a', 'b') },
      ...{ image: fc.constantFrom('x', 'y'), deleted: fc.boolean(), status: fc.constantFrom('s', 't') },
    });
    const pods = fc.uniqueArray(sketch, { selector: ({ uid }) => uid }).map((all) => setOf(...all.map(pod)));
    fc.assert(
      fc.property(pods, pods, (known, wanted) => {
        const { changes, known: after } = diffPods(known, wanted, judgeByContent);
        const folded = new Map(known);
        for (const { type, pods: changed } of changes) {
          expect(changed.length).toBeGreaterThan(0);
          for (const each of changed) {
            const { uid } = each.metadata;
            expect(folded.has(uid)).toBe(type !== 'ADD');
            if (type === 'REMOVE') folded.delete(uid);
            else folded.set(uid, each);
          }
        }
        expect(new Map(folded)).toEqual(new Map(wanted));
        expect(new Map(after)).toEqual(new Map(wanted));
        expect(diffPods(after, wanted, judgeByContent).changes).toEqual([]);
      }),
    );
  });
});
