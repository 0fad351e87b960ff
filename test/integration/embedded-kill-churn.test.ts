import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../containerd/churn/random.js';
import { CONTAINER_RUNNING, EmbeddedNode, HOST_IMAGE, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';
import { ChurnHistory, type ContainerHistory } from './kill-churn/churn-history.js';
import { churnUntilKilled, type ChurnImage } from './kill-churn/churn-worker.js';
import { findContradictions, type RuntimeAnswers } from './kill-churn/history-check.js';
import { countTraces } from './kill-churn/host-traces.js';

/** How often the runtime is killed: `npm run test:full` says 50. */
const KILLS = Number(process.env['PODLOOP_KILLS'] ?? 6);
const SEED = Number(process.env['PODLOOP_KILL_SEED'] ?? 20261121);
const WORKERS = 4;

let program: RuntimeProgram;
beforeAll(async () => {
  program = await RuntimeProgram.build();
});
afterAll(() => program[Symbol.asyncDispose]());

describe('a runtime that is killed again and again under churn', () => {
  it(
    `has every pod and container on record after each of ${KILLS} kills, seed ${SEED}`,
    async () => {
      await using node = await EmbeddedNode.prepare();
      const marks = join(node.folder, 'marks');
      await mkdir(marks);
      const before = await countTraces(node.folder);
      const random = new SeededRandom(SEED);
      const history = new ChurnHistory();
      const image: ChurnImage = { image: HOST_IMAGE, marks, marksInside: marks };
      let runtime = await program.start(node);
      for (let kill = 1; kill <= KILLS; kill++) {
        const workers = Array.from({ length: WORKERS }, () =>
          churnUntilKilled({ node, history, random: random.fork(), image }),
        );
        await new Promise((resolve) => setTimeout(resolve, random.between(150, 900)));
        await end(runtime, 'SIGKILL');
        await Promise.all(workers);
        runtime = await program.start(node);
        const answers = await ask(node, marks, history);
        expect(findContradictions(history.pods, answers), `after kill ${kill}, seed ${SEED}`).toEqual([]);
        history.forgetRemoved();
      }
      expect(history.pods.length, 'the churn made nothing').toBeGreaterThan(0);
      await node.clear();
      expect((await node.client.listContainers({})).containers).toEqual([]);
      await end(runtime, 'SIGTERM');
      expect(await countTraces(node.folder)).toEqual(before);
    },
    60_000 + 20_000 * KILLS,
  );
});

/** Asks the runtime for everything, once the programs that end by themselves have had the time for it. */
async function ask(node: EmbeddedNode, marks: string, history: ChurnHistory): Promise<RuntimeAnswers> {
  const programs = new Map<string, ContainerHistory['program']>();
  for (const { containers } of history.pods)
    for (const { name, program: runs } of containers) programs.set(name, runs);
  const { containers } = await node.client.listContainers({});
  const statuses = await Promise.all(
    containers.map(async ({ id, metadata }) =>
      until(
        async () => node.status(id),
        ({ state }) => state !== CONTAINER_RUNNING || programs.get(metadata?.name ?? '') === 'runsOn',
      ),
    ),
  );
  const runs = new Map<string, number>();
  for (const name of await readdir(marks))
    runs.set(name, (await readFile(join(marks, name), 'utf8')).trim().split('\n').length);
  return {
    pods: (await node.client.listPodSandbox({})).items,
    containers: new Map(statuses.map((status) => [status.id, status])),
    runs,
  };
}
