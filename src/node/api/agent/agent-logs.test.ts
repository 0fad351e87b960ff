import { expect, it } from 'vitest';
import { type ObservedContainer, type ObservedPod } from '../../../watch/observed/runtime.js';
import { PodCache } from '../../../watch/pleg/pod-cache.js';
import { aContainer, aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { containerLogs } from './agent-logs.js';

const LOG = '/logs/web/main/0.log';

function setUp() {
  const clock = new FakeClock();
  const cache = new PodCache();
  let observed: ObservedPod | undefined;
  const logs = containerLogs({ podLogsDir: '/logs', cache, pleg: { findObserved: () => observed } });
  return {
    find: () => logs.find('uid-web', 'main'),
    look: (...containers: ObservedContainer[]) => (observed = aPod({ containers })),
    inspect: (container: ObservedContainer) => {
      const containers = [aContainerStatus(container, { logPath: LOG })];
      cache.set('uid-web', aPodStatus(aPod(), { containers }), undefined, clock.stamp());
    },
    fail: () => cache.set('uid-web', emptyPodStatus('uid-web'), new Error('no answer'), clock.stamp()),
  };
}

it('finds nothing of a container that the runtime does not have', () => {
  expect(setUp().find()).toBeUndefined();
});

it('goes on with a log while the status of its pod cannot be had, until a look shows the end', () => {
  const { find, look, inspect, fail } = setUp();
  const running = aContainer({ id: 'main', state: 'running' });
  look(running);
  inspect(running);
  expect(find()).toEqual({ logPath: LOG, isWritten: true });
  fail();
  expect(find()).toEqual({ logPath: LOG, isWritten: true });
  look({ ...running, state: 'exited' });
  expect(find()).toEqual({ logPath: LOG, isWritten: false });
  look();
  expect(find()).toEqual({ logPath: LOG, isWritten: false });
});

it('knows that a log is written whose path was never known', () => {
  const { find, look, fail } = setUp();
  look(aContainer({ id: 'main', state: 'created' }));
  fail();
  expect(find()).toEqual({ logPath: '', isWritten: true });
});
