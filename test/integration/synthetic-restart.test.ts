import { describe, expect, it } from 'vitest';
import { type Subscription } from '../../src/watch/pleg/subscription.js';
import { OLDEST_STAMP } from '#base/time/clock.js';
import { eventually, SyntheticNode } from './synthetic-node.js';

const PODS = 300;
const EXITED_PER_POD = 5;

/** 300 running containers and 1,500 exited ones, as on a node whose pods were restarted five times each. */
async function startUsedNode(): Promise<SyntheticNode> {
  const node = await SyntheticNode.start({ pods: PODS, containersPerPod: EXITED_PER_POD });
  await node.control.kill({}, { exitCode: 1 });
  const firsts = (await node.control.pods()).map(({ containers }) => containers[0]!.id);
  await node.control.restart({ containerIds: firsts });
  return node;
}

/** Uids of the pods that the events waiting in the subscription are about; `all` once a Resync stands for all. */
function readPodsHeardOf(subscription: Subscription, heard: Set<string>): { resync: boolean } {
  let resync = false;
  for (let event = subscription.take(); event !== undefined; event = subscription.take()) {
    if ('pod' in event) heard.add(event.pod.uid);
    else resync = true;
  }
  return { resync };
}

describe.each(['generic', 'evented', 'auto'] as const)(
  'an agent started on a used node in mode %s',
  (mode) => {
    it('tells of every pod, first and later, though its queues hold 1000 and one reader sleeps', async () => {
      await using node = await startUsedNode();
      const uids = (await node.control.pods()).map(({ uid }) => uid).sort();
      const agent = node.createAgent({ mode, relistPeriodMs: 200, relistThresholdMs: 30_000 });
      // The default is what the kubelet has.
      const sleeper = agent.subscribe();
      const log = agent.record();
      const startedAt = agent.pleg.state().relists;
      agent.run();

      // Everybody who waits for a pod is answered, while nobody reads the sleeper's queue.
      await eventually(() => expect(agent.pleg.state().relists).toBeGreaterThan(startedAt));
      const statuses = await Promise.all(
        uids.map(async (uid) =>
          agent.pleg.cache.getNewerThan(uid, OLDEST_STAMP, AbortSignal.timeout(30_000)),
        ),
      );
      expect(statuses.length).toBe(PODS);
      await eventually(() => expect(agent.pleg.state().inspections.due).toBe(0));
      expect(agent.pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 0 });
      await eventually(() => expect([...log.podsHeardOf()].sort()).toEqual(uids));

      const { queued, folded } = sleeper.stats;
      expect(queued).toBeLessThanOrEqual(2_000);
      expect(folded).toBeGreaterThan(0);
      const heard = new Set<string>();
      expect(readPodsHeardOf(sleeper, heard)).toEqual({ resync: false });
      expect([...heard].sort()).toEqual(uids);

      // Then nearly everything dies at once, and the sleeper sleeps again.
      if (mode !== 'generic') await eventually(() => expect(agent.pleg.state().stream.state).toBe('up'));
      await log.catchUp();
      log.clear();
      const killed = await node.control.kill({ count: 258 }, { exitCode: 137 });
      await eventually(() => expect(log.deaths().sort()).toEqual(killed.map(({ id }) => id).sort()));
      expect(agent.pleg.health().healthy).toBe(true);
      heard.clear();
      readPodsHeardOf(sleeper, heard);
      expect([...heard].sort()).toEqual(killed.map(({ podUid }) => podUid).sort());
    }, 180_000);
  },
);
