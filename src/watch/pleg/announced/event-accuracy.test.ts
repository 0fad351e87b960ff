import { expect, it } from 'vitest';
import { type ObservedState, type PodStatus } from '../../observed/runtime.js';
import { aContainer, aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { EventAccuracy } from './event-accuracy.js';

const see = (state: ObservedState) => aPod({ containers: [aContainer({ state })] });
const say = (state: ObservedState, exitCode = 0): PodStatus =>
  aPodStatus(see(state), { containers: [aContainerStatus(aContainer({ state }), { exitCode })] });

const EXITED = see('exited');
const agree = (trust: EventAccuracy): void => trust.compare(EXITED, say('exited', 3), say('exited', 3));

it('is reached once the runtime has agreed often enough in a row, and lost when it disagrees', () => {
  const trust = new EventAccuracy({ believedAfter: 2 });
  agree(trust);
  expect(trust.use()).toBe(false);
  agree(trust);
  expect(trust.use()).toBe(true);
  trust.compare(EXITED, say('exited', 3), say('exited', 4));
  expect(trust.use()).toBe(false);
  agree(trust);
  expect(trust.use()).toBe(false);
  expect(trust.stats).toEqual({ used: 1, agreed: 3, refuted: 1 });
});

it('ignores what has changed between the list and the answer', () => {
  const trust = new EventAccuracy({ believedAfter: 1 });
  agree(trust);
  trust.compare(see('running'), say('running'), say('exited', 3));
  trust.compare(see('running'), say('running'), aPodStatus(see('running'), { containers: [] }));
  expect(trust.use()).toBe(true);
  expect(trust.stats).toMatchObject({ agreed: 1, refuted: 0 });
});

it('goes on being checked, once in 64 times, until the answer is there', () => {
  const trust = new EventAccuracy({ believedAfter: 1 });
  agree(trust);
  const uses = (): boolean[] => Array.from({ length: 70 }, () => trust.use());
  expect(uses().filter(Boolean)).toHaveLength(63);
  agree(trust);
  expect(uses().filter(Boolean)).toHaveLength(63);
  expect(trust.stats).toEqual({ used: 126, agreed: 2, refuted: 0 });
  agree(trust);
  trust.reset();
  expect(trust.use()).toBe(false);
});

it('lasts while one in 64 early exits is checked, and is lost when such a check or a list disproves one', () => {
  const trust = new EventAccuracy({ believedAfter: 1 });
  expect(trust.useEarly()).toBe(false);
  agree(trust);
  const checks = Array.from({ length: 128 }, () => trust.useEarly() && trust.wantsCheck);
  expect(checks.flatMap((isCheck, index) => (isCheck ? index : []))).toEqual([62, 126]);
  // Everything else waits for the answer, as ever.
  expect(trust.use()).toBe(false);
  agree(trust);
  expect(trust.use()).toBe(true);
  expect(trust.stats).toEqual({ used: 129, agreed: 2, refuted: 0 });
  trust.refute();
  expect([trust.use(), trust.useEarly()]).toEqual([false, false]);
  expect(trust.stats.refuted).toBe(1);
});

it('ignores an out-of-memory reason that the runtime has learnt since, but no other difference', () => {
  const trust = new EventAccuracy({ believedAfter: 1 });
  const ended = (reason: string, finishedAtNs = 5n): PodStatus =>
    aPodStatus(EXITED, {
      containers: [
        aContainerStatus(aContainer({ state: 'exited' }), { exitCode: 137, reason, finishedAtNs }),
      ],
    });
  trust.compare(EXITED, ended('Error'), ended('OOMKilled'));
  expect(trust.stats).toMatchObject({ agreed: 1, refuted: 0 });
  trust.compare(EXITED, ended('Error'), ended('OOMKilled', 6n));
  trust.compare(EXITED, ended('OOMKilled'), ended('Error'));
  expect(trust.stats).toMatchObject({ agreed: 1, refuted: 2 });
});
