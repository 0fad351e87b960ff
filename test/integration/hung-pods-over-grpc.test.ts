import { describe, expect, it } from 'vitest';
import { type SyntheticContainer, type SyntheticPod } from '#testing/synthetic-runtime/index.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';
import { type Agent, eventually, SyntheticNode } from './synthetic-node.js';

const PODS = 200;
const CONTAINERS_PER_POD = 3;
/** Between a wall clock in whole milliseconds and a duration of the monotonic one. */
const CLOCKS_DIFFER_MS = 5;

/** The deaths of so many pods, one container each. */
async function killOneIn(node: SyntheticNode, pods: readonly SyntheticPod[]): Promise<SyntheticContainer[]> {
  const killed: SyntheticContainer[] = [];
  for (const { uid } of pods) {
    killed.push(...(await node.control.kill({ podUids: [uid], count: 1 }, { exitCode: 7 })));
  }
  return killed;
}

function idsOf(containers: readonly SyntheticContainer[]): string[] {
  return containers.map(({ id }) => id).sort();
}

function expectNamed(agent: Agent, pods: readonly SyntheticPod[]): void {
  const health = agent.pleg.health();
  expect(health).toMatchObject({ healthy: true, message: undefined, reason: undefined });
  expect(health.stuckPodCount).toBe(pods.length);
  expect(health.stuckPods.map(({ pod, state }) => [pod.uid, pod.name, pod.namespace, state]).sort()).toEqual(
    pods.map(({ uid, name, namespace }) => [uid, name, namespace, 'hung']).sort(),
  );
}

describe.each([1, 20])('on a node of 200 pods, ContainerStatus of %i never answering', (hungCount) => {
  it('holds up nobody else when relisting by hand, and what was missed comes out after it answers', async () => {
    await using node = await SyntheticNode.start({ pods: PODS, containersPerPod: CONTAINERS_PER_POD });
    const agent = node.createAgent({ mode: 'generic' });
    const log = agent.record();
    await agent.pleg.relist();
    await eventually(() => expect(log.changes().length).toBe(PODS * CONTAINERS_PER_POD));
    log.clear();

    const pods = await node.control.pods();
    const [hung, others] = [pods.slice(0, hungCount), pods.slice(hungCount, hungCount + 60)];
    await node.control.setFaults({ hungPods: hung.map(({ uid }) => uid) });
    const missed = await killOneIn(node, hung);
    const expected = await killOneIn(node, others);

    // One relist: everybody else's deaths are there when it is done, and it is done although calls hang.
    await agent.pleg.relist();
    await log.catchUp();
    expect(log.deaths().sort()).toEqual(idsOf(expected));
    expect(log.changes().every(({ exitCode }) => exitCode === 7)).toBe(true);
    expectNamed(agent, hung);
    const named = new Set(hung.map(({ uid }) => uid));
    expect(agent.client.callsInFlight().every(({ pod }) => pod !== undefined && named.has(pod.uid))).toBe(
      true,
    );
    expect(agent.client.callsInFlight().length).toBeGreaterThanOrEqual(hungCount);

    // What happens next, to others and to the hung ones, is seen and missed in the same way.
    log.clear();
    missed.push(...(await killOneIn(node, hung)));
    const more = await killOneIn(node, others);
    await agent.pleg.relist();
    await log.catchUp();
    expect(log.deaths().sort()).toEqual(idsOf(more));
    expectNamed(agent, hung);

    log.clear();
    await node.control.setFaults({ hungPods: [] });
    await eventually(() => expect(log.deaths().length).toBeGreaterThanOrEqual(missed.length));
    await agent.pleg.relist();
    await log.catchUp();
    expect(log.deaths().sort()).toEqual(idsOf(missed));
    expect(log.changes().length).toBe(missed.length);
    expect(agent.pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 0 });
  });

  it.each(['generic', 'evented', 'auto'] as const)(
    'holds up nobody else while running in mode %s',
    async (mode) => {
      await using node = await SyntheticNode.start({ pods: PODS, containersPerPod: CONTAINERS_PER_POD });
      const agent = node.createAgent({ mode, relistPeriodMs: 300 });
      const log = agent.record();
      agent.run();
      await eventually(() => expect(log.changes().length).toBe(PODS * CONTAINERS_PER_POD));
      if (mode !== 'generic') await eventually(() => expect(agent.pleg.state().stream.state).toBe('up'));
      log.clear();

      const pods = await node.control.pods();
      const [hung, others] = [pods.slice(0, hungCount), pods.slice(hungCount, hungCount + 60)];
      await node.control.setFaults({ hungPods: hung.map(({ uid }) => uid) });
      const missed = await killOneIn(node, hung);
      await eventually(() => expectNamed(agent, hung));

      const relists: RelistEnd[] = [];
      const stopListening = relistEnded.subscribe((end) => relists.push(end));
      const expected = await killOneIn(node, others);
      const killedAtMs = Date.now();
      await eventually(() => expect(log.deaths().sort()).toEqual(idsOf(expected)));
      if (mode === 'generic') {
        const next = await eventually(() => {
          const first = relists.find(({ scope, startedAtMs }) => scope === 'all' && startedAtMs > killedAtMs);
          expect(first).toBeDefined();
          return first!;
        });
        const lastSeenAtMs = Math.max(...log.changes().map(({ observedAtMs }) => observedAtMs));
        expect(lastSeenAtMs).toBeLessThanOrEqual(next.startedAtMs + next.durationMs + CLOCKS_DIFFER_MS);
      }
      stopListening();
      expectNamed(agent, hung);

      log.clear();
      await node.control.setFaults({ hungPods: [] });
      await eventually(() => expect(log.deaths().sort()).toEqual(idsOf(missed)));
      await eventually(() => expect(agent.pleg.health()).toMatchObject({ healthy: true, stuckPodCount: 0 }));
      expect(log.changes().length).toBe(missed.length);
    },
  );
});
