import { describe, expect, it } from 'vitest';
import { aManifest } from '#support/builders/a-manifest.js';
import { type Holding, holdingNames } from './file-holding.js';
import { DeferredRemovals } from './deferred-removals.js';
import { parseManifest } from '../manifests/parse-manifest.js';

const holding = (...texts: string[]): Holding =>
  parseManifest({
    bytes: Buffer.from([...texts, 'apiVersion: v1\nkind: List\nitems: []\n'].join('---\n')),
    ...{ file: 'a.yaml', origin: { source: 'file', nodeName: 'node' } },
  });
const map = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: m }\ndata: { k: v }\n';

describe('what is in no file any more', () => {
  it('goes at once when nothing else changes', () => {
    const absences = new DeferredRemovals();
    absences.add(holding(aManifest('a'), map), 'over', 0);
    expect(holdingNames(absences.add(holding(), 'over', 1))).toEqual([]);
  });

  it('waits while files change, but not for one that never stands still', () => {
    const absences = new DeferredRemovals();
    absences.add(holding(aManifest('a'), map), 'over', 0);
    for (const nowMs of [1_000, 2_000, 2_999]) {
      expect(holdingNames(absences.add(holding(), 'changing', nowMs))).toEqual([
        ...['default/a-node', 'ConfigMap default/m'],
      ]);
    }
    expect(holdingNames(absences.add(holding(), 'changing', 3_000))).toEqual([]);
    expect(holdingNames(absences.add(holding(), 'changing', 3_001))).toEqual([]);
  });

  it('waits for as long as files are read', () => {
    const absences = new DeferredRemovals();
    absences.add(holding(aManifest('a')), 'over', 0);
    absences.add(holding(), 'reading', 1_000);
    expect(holdingNames(absences.add(holding(), 'reading', 60_000))).toEqual(['default/a-node']);
    expect(holdingNames(absences.add(holding(aManifest('b')), 'over', 60_001))).toEqual(['default/b-node']);
  });

  it('gives way to what has its name, and waits again when it was back meanwhile', () => {
    const absences = new DeferredRemovals();
    absences.add(holding(aManifest('a', 'one')), 'over', 0);
    absences.add(holding(), 'changing', 100);
    const { pods } = absences.add(holding(aManifest('a', 'two')), 'changing', 200);
    expect(pods.map(({ pod }) => pod.spec.containers[0]!.image)).toEqual(['two']);
    absences.add(holding(), 'changing', 2_000);
    expect(holdingNames(absences.add(holding(), 'changing', 3_900))).toEqual(['default/a-node']);
  });
});
