/**
 * The clock on the wall is set an hour forward and back while pods run and change: nothing that was well is touched, and
 * what waits for its time waits neither for hours nor not at all.
 *
 * A few jumps in each run of the tests; PODLOOP_CLOCK_JUMPS says how many else, and PODLOOP_AGENT_PODS of how many pods.
 *
 * @module
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { EmbeddedRuntime } from '../../src/box/index.js';
import { SeededRandom } from '../containerd/churn/random.js';
import { partsOf } from './agent-kill/churn-pod.js';
import { expectSoonNone, pause } from './agent-kill/expect-soon-none.js';
import { PodChurn } from './agent-kill/pod-churn.js';
import { WellWatch } from './agent-kill/well-watch.js';
import { HostTraces } from './kill-churn/host-traces.js';
import { MovableClock } from './movable-clock.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { writeProgramImage } from './program-image.js';
import { recordResult } from './results-page.js';

/** `npm run test:full` says 30. */
const JUMPS = Number(process.env['PODLOOP_CLOCK_JUMPS'] ?? 3);
const PODS = Number(process.env['PODLOOP_AGENT_PODS'] ?? 8);
const SEED = Number(process.env['PODLOOP_KILL_SEED'] ?? 20261121);
const HOUR_MS = 3_600_000;
const OFFSETS_MS = [HOUR_MS, 0, -HOUR_MS] as const;
const isApart = process.getuid?.() === 0;

/** What is to be done at the end, the newest first. */
class Ending implements AsyncDisposable {
  readonly #steps: (() => unknown)[] = [];

  later(step: () => unknown): void {
    this.#steps.unshift(step);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const step of this.#steps) await step();
  }
}

it(
  `${PODS} pods that change do not notice that the clock jumps ${JUMPS} times, seed ${SEED}`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-clock-jumps-'));
    await using ending = new Ending();
    ending.later(() => rm(folder, { recursive: true, force: true }));
    const [marks, images] = [join(folder, 'marks'), join(folder, 'images')];
    for (const each of [marks, images, join(folder, 'manifests')]) await mkdir(each);
    if (isApart) await writeProgramImage(images);
    const endpoint = `unix://${folder}/cri.sock`;
    const rootDir = join(folder, 'runtime');
    const runtime = await EmbeddedRuntime.start({
      ...{ listen: endpoint, rootDir, imageDirs: [images] },
      isolation: isApart ? 'namespaces' : 'none',
    });
    ending.later(() => runtime.close());
    const client = new CriClient({ endpoint });
    ending.later(() => client.close());
    // After a test that failed half way.
    ending.later(async () => {
      const { items } = await client.listPodSandbox({}).catch(() => ({ items: [] }));
      await Promise.all(items.map(({ id }) => client.removePodSandbox({ podSandboxId: id })));
    });
    const traces = new HostTraces({ folder, root: rootDir });

    const random = new SeededRandom(SEED);
    const churn = new PodChurn({
      ...{ folder: join(folder, 'manifests'), place: { marks, isApart }, size: PODS },
      random: random.fork(),
    });
    const watch = new WellWatch({ client, churn, marks, nodeName: 'test' });
    const clock = new MovableClock();
    const agent = await AgentNode.start({
      ...{ folder, endpoint, clock },
      agent: { maxContainerRestartPeriodMs: 3_000 },
    });
    ending.later(async () => agent.stop().catch(() => undefined));
    await churn.begin();
    const changing = new AbortController();
    const watching = new AbortController();
    const working = Promise.all([churn.run(changing.signal), watch.run(watching.signal)]);
    ending.later(async () => {
      changing.abort();
      watching.abort();
      await working.catch(() => undefined);
    });

    for (let jump = 1; jump <= JUMPS; jump++) {
      await pause(random.between(300, 3_000));
      const others = OFFSETS_MS.filter((each) => each !== clock.offsetMs);
      clock.offsetMs = random.chance(0.5) ? others[0]! : others[1]!;
      expect(await watch.findContradictions(), `after jump ${jump}`).toEqual([]);
    }

    changing.abort();
    await expectSoonNone(() => watch.findMissing());
    const before = await watch.crashes();
    clock.offsetMs -= HOUR_MS;
    await expectSoonNone(async () => {
      const crashes = await watch.crashes();
      return [...before]
        .filter(([name, restarts]) => (crashes.get(name) ?? 0) <= restarts)
        .map(([name]) => name);
    });
    await expectSoonNone(() => Promise.resolve(findUnready(agent, churn)));
    await traces.note();
    expect(watch.size, 'next to nothing was seen').toBeGreaterThan(PODS);
    expect(await watch.findContradictions()).toEqual([]);

    await churn.clear();
    await expectSoonNone(async () => (await client.listPodSandbox({})).items.map(({ id }) => id));
    watching.abort();
    await working;
    expect(await watch.findContradictions()).toEqual([]);
    await agent.stop();
    await runtime.close();
    await expectSoonNone(() => traces.findLeft());
    await recordResult('agent', 'The node agent', {
      name: `The clock set an hour forward or back ${JUMPS} times while ${PODS} pods run and change`,
      what: 'The clock of an agent in the test’s own process, on the embedded runtime.',
      values: { 'containers seen': watch.size, 'well ones that restarted or ran twice': 0 },
    });
  },
  180_000 + 20_000 * JUMPS,
);

/** Pods all of whose containers should be ready and are not, in sentences. */
function findUnready({ agent }: AgentNode, churn: PodChurn): string[] {
  const ready = new Set(
    agent
      .statuses()
      .filter(({ status }) =>
        status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      )
      .map(({ pod }) => pod.name),
  );
  return [...churn.pods.values()]
    .filter(({ kind }) =>
      partsOf(kind).every(({ runs, role }) => role === 'init' || runs === 'on' || runs === 'graceful'),
    )
    .filter(({ name }) => !ready.has(`${name}-test`))
    .map(({ name }) => `${name} is not ready`);
}
