/**
 * Alerts of examples/prometheus over a running agent behind chaos: they fire because of it, and clear when it is over.
 *
 * Some of them in each run of the tests; PODLOOP_ALERTS=full for all that chaos can bring about.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AlertsLab } from './alerts-lab.js';

const FULL = process.env['PODLOOP_ALERTS'] === 'full';
const LIMIT_MS = 30_000;

describe('alerts over a running agent', () => {
  let lab: AlertsLab;
  let podName: string;

  beforeAll(async () => {
    lab = await AlertsLab.start({ pods: 5, flags: ['--mode', 'generic', '--runtime-request-timeout', '8s'] });
    const [pod] = await lab.node.control.pods();
    podName = `${pod!.namespace}/${pod!.name}`;
    await until(
      () => lab.series.find({ name: 'podloop_pleg_pods', matchers: [] }).at(-1)?.points.at(-1)?.value === 5,
    );
    await firing([]);
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  async function until(isSo: () => boolean): Promise<void> {
    await vi.waitFor(() => expect(isSo()).toBe(true), { timeout: LIMIT_MS, interval: 100 });
  }

  /** Waits until exactly these alerts fire; those that only inform aside. */
  async function firing(alerts: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect([...lab.firing].sort()).toEqual([...alerts].sort()), {
      timeout: LIMIT_MS,
      interval: 100,
    });
  }

  /** Waits until these fire, whichever else do. */
  async function alsoFiring(...alerts: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect([...lab.firing]).toEqual(expect.arrayContaining([...alerts])), {
      timeout: LIMIT_MS,
      interval: 100,
    });
  }

  function rules(...list: readonly [match: string, fault: string][]): void {
    const text = list.map(([match, fault], at) => `- { name: r${at}, match: ${match}, fault: ${fault} }`);
    lab.node.replaceRules(text.length === 0 ? 'rules: []' : `rules:\n${text.join('\n')}\n`);
  }

  it('PlegPodStuck and RuntimeCallHangs: the status calls of one pod hang', async () => {
    rules([`{ methods: [ContainerStatus, PodSandboxStatus], pods: [${podName}] }`, '{ type: hang }']);
    const [pod] = await lab.node.control.pods();
    await lab.node.control.kill({ podUids: [pod!.uid] });
    await alsoFiring('PlegPodStuck', 'RuntimeCallHangs');
    rules();
    await firing([]);
  });

  it('PlegRelistHangs and PlegSoonNotHealthy: lists of all pods hang', async () => {
    rules(['{ methods: [ListContainers, ListPodSandbox] }', '{ type: hang }']);
    await alsoFiring('PlegRelistHangs', 'PlegSoonNotHealthy');
    rules();
    await firing([]);
  });

  it('RuntimeConnectionDown: the runtime is away', async () => {
    rules(['{}', '{ type: outage }']);
    await alsoFiring('RuntimeConnectionDown');
    rules();
    await firing([]);
  });

  describe.runIf(FULL)('with all that chaos can bring about', () => {
    it('PlegListsFail and RuntimeCallsFail: lists are answered with errors', async () => {
      rules(['{ methods: [ListContainers] }', '{ type: error, code: INTERNAL }']);
      await alsoFiring('PlegListsFail', 'RuntimeCallsFail');
      rules();
      await firing([]);
    });
  });
});
