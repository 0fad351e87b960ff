/**
 * Whatever dies, what was well goes on: the agent or the runtime is killed again and again while pods run and change.
 *
 * A few kills in each run of the tests; PODLOOP_AGENT_KILLS says how many else, and PODLOOP_AGENT_PODS of how many pods.
 *
 * @module
 */
import { describe, expect, it } from 'vitest';
import { ChurnedNode } from './agent-kill/churned-node.js';
import { pause } from './agent-kill/expect-soon-none.js';
import { until } from './embedded-node.js';
import { recordResult } from './results-page.js';

/** `npm run test:full` says 30 of each. */
const KILLS = Number(process.env['PODLOOP_AGENT_KILLS'] ?? 3);
const PODS = Number(process.env['PODLOOP_AGENT_PODS'] ?? 8);
const SEED = Number(process.env['PODLOOP_KILL_SEED'] ?? 20261121);
const TIME_LIMIT_MS = 180_000 + 30_000 * KILLS;

describe.concurrent(
  `${PODS} pods that change, and ${KILLS} kills, seed ${SEED}`,
  { timeout: TIME_LIMIT_MS },
  () => {
    it('go on as the same processes, run once and are all there when the agent is killed', async () => {
      await using node = await ChurnedNode.start({ pods: PODS, seed: SEED });
      let agent = node.startAgent();
      for (let kill = 1; kill <= KILLS; kill++) {
        await node.untilSomeTime(agent);
        await agent.end('SIGKILL');
        await pause(node.random.chance(0.5) ? 0 : node.random.between(0, 1_000));
        agent = node.startAgent();
        expect(await node.watch.findContradictions(), `after kill ${kill}`).toEqual([]);
      }
      await node.expectAllWell();
      await node.expectNothingLeft(agent);
      await record('agent', node.watch.size);
    });

    it('go on as the same processes, run once and are all there when the runtime is killed', async () => {
      await using node = await ChurnedNode.start({ pods: PODS, seed: SEED + 1 });
      const agent = node.startAgent();
      await agent.line('stderr', /Started node agent/);
      for (let kill = 1; kill <= KILLS; kill++) {
        await pause(node.random.between(50, 3_000));
        const pid = await until(
          () => node.findRuntime(),
          (found) => found !== undefined,
        );
        process.kill(pid!, 'SIGKILL');
        await until(
          () => node.findRuntime(),
          (found) => found !== undefined && found !== pid,
        );
        expect(await node.watch.findContradictions(), `after kill ${kill}`).toEqual([]);
      }
      await node.expectAllWell();
      await node.expectNothingLeft(agent);
      await record('runtime', node.watch.size);
    });
  },
);

async function record(victim: string, containers: number): Promise<void> {
  await recordResult('agent', 'The node agent', {
    name: `The ${victim} killed with -9 ${KILLS} times while ${PODS} pods run and change`,
    what: 'On the embedded runtime. After each kill every process is held against the one that was there before.',
    values: {
      'containers seen': containers,
      'well ones that restarted or ran twice': 0,
      'processes, mounts, cgroups, links, files left': 0,
    },
  });
}
