import { describe, expect, it } from 'vitest';
import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ContainerUse, type PodUse } from '#kube/pod/pod-use.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { diskPartsOf } from './pod-consumption.js';
import { rankPods } from './rank-pods.js';

interface Contender {
  readonly requests?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly use?: Partial<Omit<PodUse, 'containers'>> & { readonly main?: Omit<ContainerUse, 'name'> };
}

function rank(
  signal: EvictionSignal,
  contenders: Readonly<Record<string, Contender>>,
  hasImageDisk = false,
): string[] {
  const pods = Object.entries(contenders).map(([name, { requests = {}, priority }]): NodePod => {
    const containers = [{ name: 'main', image: 'i', resources: { requests } }];
    return aNodePod({
      name,
      source: 'api',
      spec: { containers, ...(priority !== undefined && { priority }) },
    });
  });
  const uses = new Map(
    Object.entries(contenders).flatMap(([name, { use }]): [string, PodUse][] => {
      if (use === undefined) return [];
      const { main = {}, ...rest } = use;
      return [
        [
          `uid-${name}`,
          { volumeBytes: 0, volumeInodes: 0, ...rest, containers: [{ name: 'main', ...main }] },
        ],
      ];
    }),
  );
  const parts = diskPartsOf(signal, hasImageDisk);
  return rankPods(pods, { signal, uses, parts }).map(({ metadata }) => metadata.name);
}

describe('pods are evicted for memory', () => {
  it('that use more than they asked for first, whatever their priority', () => {
    const pods = {
      modest: { requests: { memory: '200' }, use: { memoryBytes: 200 }, priority: -5 },
      greedy: { requests: { memory: '100' }, use: { memoryBytes: 101 }, priority: 7 },
    };
    expect(rank('memory.available', pods)).toEqual(['greedy', 'modest']);
  });

  it('of low priority before others, and then those that are furthest beyond what they asked for', () => {
    const pods = {
      high: { use: { memoryBytes: 900 }, priority: 1 },
      small: { use: { memoryBytes: 300 } },
      large: { requests: { memory: '100' }, use: { memoryBytes: 500 } },
    };
    expect(rank('memory.available', pods)).toEqual(['large', 'small', 'high']);
  });

  it('with unknown usage before others of their priority', () => {
    const pods = { known: { use: { memoryBytes: 900 } }, unknown: {}, other: {}, high: { priority: 1 } };
    expect(rank('memory.available', pods)).toEqual(['unknown', 'other', 'known', 'high']);
  });
});

describe('pods are evicted for a disk', () => {
  const pods = {
    volumes: { use: { volumeBytes: 500, main: { writtenBytes: 1 } } },
    layer: { use: { main: { writtenBytes: 600, logBytes: 2, writtenInodes: 9 } } },
    logs: { use: { main: { writtenBytes: 3, logBytes: 550, logInodes: 11 } } },
    asked: { requests: { 'ephemeral-storage': '1000' }, use: { volumeBytes: 900 } },
  };

  it('by all that they have written where there is one', () => {
    expect(rank('nodefs.available', pods)).toEqual(['layer', 'logs', 'volumes', 'asked']);
    expect(rank('nodefs.inodesFree', pods)).toEqual(['logs', 'layer', 'volumes', 'asked']);
  });

  it('for inodes by the files of their volumes as well, where these are on it', () => {
    const files = {
      layer: { use: { main: { writtenInodes: 900 } } },
      volumes: { use: { volumeInodes: 1_000, main: { writtenInodes: 1 } } },
      uncounted: { priority: 1, use: { volumeInodes: undefined } },
    };
    expect(rank('nodefs.inodesFree', files)).toEqual(['volumes', 'layer', 'uncounted']);
    expect(rank('nodefs.inodesFree', files, true)).toEqual(['volumes', 'uncounted', 'layer']);
    expect(rank('imagefs.inodesFree', files, true)).toEqual(['layer', 'volumes', 'uncounted']);
  });

  it('by what is on that one where images have their own', () => {
    expect(rank('nodefs.available', pods, true)).toEqual(['logs', 'volumes', 'layer', 'asked']);
    expect(rank('imagefs.available', pods, true)).toEqual(['layer', 'logs', 'volumes', 'asked']);
  });
});

it('pods are evicted for process ids by priority, and then by their number', () => {
  const pods = {
    high: { priority: 1, use: { processes: 99 } },
    few: { use: { processes: 2 } },
    many: { use: { processes: 50 } },
  };
  expect(rank('pid.available', pods)).toEqual(['many', 'few', 'high']);
});
