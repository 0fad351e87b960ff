import { describe, expect, it } from 'vitest';
import { type RuntimeImage } from '../../runtime/runtime-changes.js';
import {
  bytesToFree,
  DEFAULT_IMAGE_POLICY,
  findOldImages,
  namesOf,
  planImageRemovals,
  usagePercent,
} from './image-plan.js';

const disk = (availableBytes: number) => ({ capacityBytes: 1_000, availableBytes });

function anImage(id: string, fields: Partial<RuntimeImage> = {}): RuntimeImage {
  return {
    id,
    tags: [],
    digests: [],
    sizeBytes: 10n,
    pinned: false,
    uid: undefined,
    username: '',
    ...fields,
  };
}

describe('the disk of images', () => {
  it.each([
    [1_000, 0, 0],
    [160, 84, 0],
    [151, 85, 49],
    [150, 85, 50],
    [0, 100, 200],
    [2_000, 0, 0],
  ])('with %i of 1000 bytes free is %i %% full, and %i bytes are to go', (available, percent, toFree) => {
    expect(usagePercent(disk(available))).toBe(percent);
    expect(bytesToFree(disk(available), DEFAULT_IMAGE_POLICY)).toBe(toFree);
  });

  it('is never too full at a threshold of 100, nor when nobody knows its size', () => {
    expect(bytesToFree(disk(0), { ...DEFAULT_IMAGE_POLICY, highThresholdPercent: 100 })).toBe(0);
    expect(bytesToFree({ capacityBytes: 0, availableBytes: 0 }, DEFAULT_IMAGE_POLICY)).toBe(0);
  });
});

describe('images', () => {
  const images = [anImage('a'), anImage('b'), anImage('c'), anImage('d', { pinned: true }), anImage('e')];
  const plan = (inUse: string[] = [], minAgeMs = 0) =>
    planImageRemovals(
      images,
      [
        { id: 'a', pulledAtMs: 100, lastUsedAtMs: 900 },
        { id: 'b', pulledAtMs: 300, lastUsedAtMs: 500 },
        { id: 'c', pulledAtMs: 700 },
        { id: 'd', pulledAtMs: 100 },
        { id: 'gone', pulledAtMs: 100 },
      ],
      ({ id }) => inUse.includes(id),
      minAgeMs,
      1_000,
    ).map(({ id }) => id);

  it('go in the order in which they were last used, and only those that we fetched and nobody pinned', () => {
    expect(plan()).toEqual(['c', 'b', 'a']);
  });

  it('are old once nobody has used them for longer than the limit, counted from their pull if nobody ever has', () => {
    const pulled = [
      { id: 'a', pulledAtMs: 100, lastUsedAtMs: 900 },
      { id: 'b', pulledAtMs: 300, lastUsedAtMs: 500 },
      { id: 'c', pulledAtMs: 700 },
      // Pulled again since.
      { id: 'd', pulledAtMs: 800, lastUsedAtMs: 200 },
    ];
    const old = (maxAgeMs: number, some = images) =>
      findOldImages(some, pulled, maxAgeMs, 1_000).map(({ id }) => id);
    expect([old(0), old(-5), old(500), old(499), old(250), old(50)]).toEqual([
      [],
      [],
      [],
      ['b'],
      ['b', 'c'],
      ['a', 'b', 'c', 'd'],
    ]);
    expect(old(50, images.slice(2))).toEqual(['c', 'd']);
  });

  it('stay while they are in use, or new', () => {
    expect(plan(['b'])).toEqual(['c', 'a']);
    expect(plan([], 500)).toEqual(['b', 'a']);
  });

  it('are known by every name that people and runtimes have for them', () => {
    const names = namesOf(
      anImage('sha256:12', {
        tags: ['docker.io/library/busybox:latest', 'registry.example/app:1'],
        digests: ['docker.io/library/busybox@sha256:34'],
      }),
    );
    for (const name of [
      ...['sha256:12', '12', 'busybox', 'busybox:latest', 'docker.io/library/busybox', 'busybox@sha256:34'],
      ...['docker.io/library/busybox:latest', 'registry.example/app:1'],
    ]) {
      expect(names).toContain(name);
    }
    expect(names).not.toContain('registry.example/app');
  });
});
