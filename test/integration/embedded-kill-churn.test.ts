import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SeededRandom } from '../containerd/churn/random.js';
import { CONTAINER_RUNNING, EmbeddedNode, HOST_IMAGE, ISOLATIONS, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';
import { ChurnHistory, type ContainerHistory } from './kill-churn/churn-history.js';
import { churnUntilKilled, type ChurnImage } from './kill-churn/churn-worker.js';
import { findContradictions, type RuntimeAnswers } from './kill-churn/history-check.js';
import { HostTraces } from './kill-churn/host-traces.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';
import { recordResult } from './results-page.js';

/** How often the runtime is killed: `npm run test:full` says 50. */
const KILLS = Number(process.env['PODLOOP_KILLS'] ?? 5);
const SEED = Number(process.env['PODLOOP_KILL_SEED'] ?? 20261121);
const WORKERS = 4;

let program: RuntimeProgram;
let imageDir: string;
beforeAll(async () => {
  program = await RuntimeProgram.build();
  imageDir = await mkdtemp(join(tmpdir(), 'podloop-images-'));
  await writeProgramImage(imageDir);
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await rm(imageDir, { recursive: true, force: true });
});

it.each(ISOLATIONS)(
  `has every pod and container on record after each of ${KILLS} kills, seed ${SEED}, isolation %s`,
  async (isolation) => {
    await using node = await EmbeddedNode.prepare({ isolation, imageDirs: [imageDir] });
    const marks = join(node.folder, 'marks');
    await mkdir(marks);
    const traces = new HostTraces(node);
    const random = new SeededRandom(SEED);
    const history = new ChurnHistory();
    // Without isolation there are no roots of images and no mounts.
    const image: ChurnImage =
      isolation === 'none'
        ? { image: HOST_IMAGE, marks, marksInside: marks }
        : { image: PROGRAM_IMAGE, marks, marksInside: '/marks' };
    let runtime = await program.start(node);
    await node.client.pullImage({ image: { image: image.image } });
    for (let kill = 1; kill <= KILLS; kill++) {
      const workers = Array.from({ length: WORKERS }, () =>
        churnUntilKilled({ node, history, random: random.fork(), image }),
      );
      await new Promise((resolve) => setTimeout(resolve, random.between(150, 1_200)));
      await end(runtime, 'SIGKILL');
      await Promise.all(workers);
      runtime = await program.start(node);
      const answers = await ask(node, marks, history);
      expect(findContradictions(history.pods, answers), `after kill ${kill}, seed ${SEED}`).toEqual([]);
      await traces.note();
      history.forgetRemoved();
    }
    expect(history.size, 'the churn made next to nothing').toBeGreaterThan(KILLS);
    expect(traces.processCount > 0).toBe(isolation === 'namespaces');
    await node.clear();
    expect((await node.client.listContainers({})).containers).toEqual([]);
    await end(runtime, 'SIGTERM');
    expect(await traces.findLeft()).toEqual([]);
    await recordResult('embedded', 'The embedded runtime', {
      name: `killed (-9) ${KILLS} times under churn, isolation ${isolation}`,
      what: 'After each kill the record is held against all that was made and removed; what contradicts it fails the run.',
      values: { kills: KILLS, seed: SEED, workers: WORKERS, 'pods and containers': history.size },
    });
  },
  60_000 + 20_000 * KILLS,
);

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
