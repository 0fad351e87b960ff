import { describe, expect, it } from 'vitest';
import { type ObservedPod } from '../observed/runtime.js';
import { aContainer, aPod } from '#testing/builders.js';
import { drain, setUpPleg } from '#support/harness/pleg-harness.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findFlaw } from './flawed-pod.js';

const FLAWED: readonly [unknown, string][] = [
  [null, 'must be an object'],
  [undefined, 'must be an object'],
  ['web', 'must be an object'],
  [{}, 'uid'],
  [{ ...aPod(), uid: '' }, 'uid'],
  [{ ...aPod(), containers: undefined }, 'containers: must be an array'],
  [{ ...aPod(), sandboxes: 3 }, 'sandboxes: must be an array'],
  [{ ...aPod(), containers: [null] }, 'containers[0]: must be an object'],
  [{ ...aPod(), containers: [{ ...aContainer(), id: 7 }] }, 'containers[0].id'],
  [
    { ...aPod(), containers: [{ ...aContainer(), state: 'paused' }] },
    'containers[0].state: "paused" is none of',
  ],
];

it('finds nothing wrong with a pod that is well', () => {
  expect(findFlaw(aPod())).toBeUndefined();
});

it('is logged once for as long as it stays the same', async () => {
  const warnings: unknown[] = [];
  const logger = { ...SILENT_LOGGER, warn: (_: string, fields?: object) => void warnings.push(fields) };
  const { runtime, pleg } = setUpPleg({ logger });
  let pods: ObservedPod[] = [];
  runtime.listPods = () => Promise.resolve(pods);
  const flawed = { ...aPod({ name: 'odd' }), containers: undefined } as unknown as ObservedPod;
  for (pods of [[flawed], [flawed], [], [flawed], [{ ...flawed, sandboxes: 3 as never }]])
    await pleg.relist();
  expect(warnings).toEqual([
    { podUID: 'uid-odd', flaw: 'containers: must be an array' },
    { podUID: 'uid-odd', flaw: 'containers: must be an array' },
    { podUID: 'uid-odd', flaw: 'sandboxes: must be an array' },
  ]);
});

it("does not make the pod's entry newer, nor, if it has no name, the entries of missing pods", async () => {
  const { clock, runtime, pleg } = setUpPleg();
  const [web, other] = [aPod({ name: 'web' }), aPod({ name: 'other' })];
  runtime.setPods([web, other]);
  let listed: readonly unknown[] = [web, other];
  runtime.listPods = () => Promise.resolve(listed as readonly ObservedPod[]);
  await pleg.relist();
  for (const odd of [{ ...web, containers: undefined }, { ...web, uid: '' }, null]) {
    const before = clock.stamp();
    const areNewer = (): boolean[] =>
      ['uid-web', 'uid-other'].map((uid) => pleg.cache.get(uid).stamp > before);
    listed = [odd, other];
    await pleg.relist();
    expect(areNewer()).toEqual([false, true]);
    listed = [web, other];
    await pleg.relist();
    expect(areNewer()).toEqual([true, true]);
  }
});

it('does not advance the stamp of a new pod until that is gone', async () => {
  const { clock, runtime, pleg } = setUpPleg();
  const odd = { ...aPod({ name: 'odd' }), containers: undefined } as unknown as ObservedPod;
  let listed = [odd];
  runtime.listPods = () => Promise.resolve(listed);
  const before = clock.stamp();
  await pleg.relist();
  expect(pleg.cache.get('uid-odd').stamp > before).toBe(false);
  listed = [];
  await pleg.relist();
  expect(pleg.cache.get('uid-odd').stamp > before).toBe(true);
});

describe.each(FLAWED)('a list with a flawed pod in it (%#)', (flawed, words) => {
  it('is reported, does not affect other pods, and makes no pod count as gone', async () => {
    expect(findFlaw(flawed as ObservedPod)).toContain(words);
    const { runtime, pleg, events } = setUpPleg();
    const before = aPod({ name: 'before' });
    runtime.setPods([before]);
    await pleg.relist();
    drain(events);
    const other = aPod({ name: 'other' });
    const list = runtime.listPods.bind(runtime);
    runtime.listPods = async () => {
      await list();
      return [flawed as ObservedPod, before, other];
    };
    await pleg.relist();
    expect(drain(events).join('\n')).toContain('uid-other-main-0');
    expect(pleg.health().healthy).toBe(true);
    expect(pleg.cache.get('uid-before').status.containers).toHaveLength(1);
  });
});
