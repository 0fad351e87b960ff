/**
 * Alerts of examples/prometheus over a running agent behind chaos: they fire because of it, and clear when it is over.
 *
 * Some of them in each run of the tests; PODLOOP_ALERTS=full for all that chaos can bring about.
 *
 * @module
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type SyntheticPod } from '#testing/synthetic-runtime/index.js';
import { AlertsHarness } from './alerts-harness.js';
import { EmbeddedChaosNode } from './embedded-chaos-node.js';

const FULL = process.env['PODLOOP_ALERTS'] === 'full';
const LIMIT_MS = FULL ? 90_000 : 30_000;

/** By a clock of its own, and for as long as two minutes: an agent that this machine has let wait. */
const OF_LOAD = 'PodloopEventLoopLate';

function alarms({ firing }: { readonly firing: ReadonlySet<string> }): string[] {
  return [...firing].filter((alert) => alert !== OF_LOAD);
}

describe('alerts over a running agent', { timeout: 3 * LIMIT_MS }, () => {
  let lab: AlertsHarness;
  let podName: string;

  beforeAll(async () => {
    lab = await AlertsHarness.start({
      pods: 5,
      flags: ['--mode', 'generic', '--runtime-request-timeout', '8s'],
    });
    const [pod] = await lab.node.control.pods();
    podName = `${pod!.namespace}/${pod!.name}`;
    await until(
      () => lab.series.find({ name: 'podloop_pleg_pods', matchers: [] }).at(-1)?.points.at(-1)?.value === 5,
    );
    await silent();
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  async function until(isSo: () => boolean): Promise<void> {
    await vi.waitFor(() => expect(isSo()).toBe(true), { timeout: LIMIT_MS, interval: 100 });
  }

  /** Waits until no alert fires that is about more than this machine. */
  async function silent(): Promise<void> {
    await vi.waitFor(() => expect(alarms(lab)).toEqual([]), { timeout: LIMIT_MS, interval: 100 });
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

  /** Ends the container of each of these pods or, where an earlier test has done that, starts the next one beside it. */
  async function change(pods: readonly SyntheticPod[]): Promise<void> {
    const killed = await lab.node.control.kill({ podUids: pods.map(({ uid }) => uid) });
    const ended = pods.filter(({ uid }) => !killed.some(({ podUid }) => podUid === uid));
    if (ended.length > 0) await lab.node.control.restart({ podUids: ended.map(({ uid }) => uid) });
  }

  it('PlegPodStuck and RuntimeCallHangs: the status calls of one pod hang', async () => {
    rules([`{ methods: [ContainerStatus, PodSandboxStatus], pods: [${podName}] }`, '{ type: hang }']);
    await change((await lab.node.control.pods()).slice(0, 1));
    await alsoFiring('PlegPodStuck', 'RuntimeCallHangs');
    rules();
    await silent();
  });

  it('PlegRelistHangs and PlegSoonNotHealthy: lists of all pods hang', async () => {
    rules(['{ methods: [ListContainers, ListPodSandbox] }', '{ type: hang }']);
    await alsoFiring('PlegRelistHangs', 'PlegSoonNotHealthy');
    rules();
    await silent();
  });

  it('RuntimeConnectionDown: the runtime is away', async () => {
    rules(['{}', '{ type: outage }']);
    await alsoFiring('RuntimeConnectionDown');
    rules();
    await silent();
  });

  describe.runIf(FULL)('with all that chaos can bring about', () => {
    it('PlegListsFail and RuntimeCallsFail: lists are answered with errors', async () => {
      rules(['{ methods: [ListContainers] }', '{ type: error, code: INTERNAL }']);
      await alsoFiring('PlegListsFail', 'RuntimeCallsFail');
      rules();
      await silent();
    });

    it('PlegInspectionsFail: status calls are answered with errors', async () => {
      rules(['{ methods: [ContainerStatus, PodSandboxStatus] }', '{ type: error, code: INTERNAL }']);
      await change(await lab.node.control.pods());
      await alsoFiring('PlegInspectionsFail', 'PlegPodStuck');
      rules();
      await silent();
    });

    it('PlegRelistSlow: each list takes its time', async () => {
      rules(['{ methods: [ListContainers] }', '{ type: delay, for: 500ms }']);
      await alsoFiring('PlegRelistSlow');
      rules();
      await silent();
    });

    it('RuntimeCallsTimeOut: status calls of several pods are never answered', async () => {
      rules(['{ methods: [ContainerStatus] }', '{ type: hang }']);
      await change((await lab.node.control.pods()).slice(1));
      await alsoFiring('RuntimeCallsTimeOut', 'PlegPodStuck');
      rules();
      await silent();
    });

    it('PodsNotSynced: the runtime is away for longer', async () => {
      rules(['{}', '{ type: outage }']);
      await alsoFiring('PodsNotSynced', 'RuntimeConnectionDown');
      rules();
      await silent();
    });

    it('RuntimeConnectionFlaps: the runtime comes and goes', async () => {
      for (let at = 0; at < 7; at++) {
        rules(['{}', '{ type: outage }']);
        await until(() => told('podloop_cri_connection_state', 'ready') === 0);
        rules();
        await until(() => told('podloop_cri_connection_state', 'ready') === 1);
      }
      await alsoFiring('RuntimeConnectionFlaps');
      await silent();
    });

    it('ManifestsRefused: a manifest that is none', async () => {
      const file = join(lab.node.folder, 'manifests/bad.yaml');
      await writeFile(file, 'kind: Pod\napiVersion: v1\nspec: nothing\n');
      await alsoFiring('ManifestsRefused');
      await rm(file);
      await silent();
    });

    it('PodloopEventLoopLate: the agent stands still', { timeout: 300_000 }, async () => {
      await lab.stallAgent(1_500);
      await alsoFiring(OF_LOAD);
      // It is the latest that it was in the last minute, by a clock of its own.
      await vi.waitFor(() => expect([...lab.firing]).toEqual([]), { timeout: 200_000, interval: 500 });
    });

    it('PodloopDown and PodloopRestarts: the agent is killed again and again', async () => {
      for (let at = 0; at < 3; at++) {
        await lab.killAgent();
        await until(() => told('up') === 0);
        if (at === 0) await alsoFiring('PodloopDown');
        lab.startAgain();
        await until(() => told('up') === 1);
      }
      await alsoFiring('PodloopRestarts');
      await silent();
    });

    it('PlegNotHealthy: no list is answered for three minutes', { timeout: 300_000 }, async () => {
      rules(['{ methods: [ListContainers, ListPodSandbox] }', '{ type: hang }']);
      await vi.waitFor(() => expect([...lab.firing]).toContain('PlegNotHealthy'), {
        timeout: 240_000,
        interval: 500,
      });
      rules();
      await silent();
    });
  });

  /** The present value of a series, of one state where it has several. */
  function told(name: string, state?: string): number | undefined {
    const matchers = state === undefined ? [] : [{ label: 'state', op: '=' as const, value: state }];
    return lab.series.find({ name, matchers }).at(-1)?.points.at(-1)?.value;
  }
});

describe.runIf(FULL)('alerts over an agent that trusts events', () => {
  it('PlegEventStreamDown and PlegChangesMissed: the stream breaks, or loses events', async () => {
    await using lab = await AlertsHarness.start({ pods: 40, flags: ['--mode', 'auto'] });
    const wait = (check: () => void): Promise<void> =>
      vi.waitFor(check, { timeout: LIMIT_MS, interval: 100 });
    const up = (): unknown =>
      lab.series
        .find({ name: 'podloop_pleg_stream_state', matchers: [{ label: 'state', op: '=', value: 'up' }] })
        .at(-1)
        ?.points.at(-1)?.value;
    await wait(() => expect(up()).toBe(1));
    lab.node.replaceRules('rules: [{ name: r, fault: { type: drop-events } }]');
    await lab.node.control.kill({ podUids: (await lab.node.control.pods()).slice(20).map(({ uid }) => uid) });
    await wait(() => expect([...lab.firing]).toContain('PlegChangesMissed'));
    lab.node.replaceRules(
      'rules: [{ name: r, match: { methods: [GetContainerEvents] }, fault: { type: error, code: UNAVAILABLE } }]',
    );
    await lab.node.control.breakEventStreams();
    await wait(() => expect([...lab.firing]).toContain('PlegEventStreamDown'));
    lab.node.replaceRules('rules: []');
    await vi.waitFor(() => expect(alarms(lab)).toEqual([]), { timeout: 90_000, interval: 100 });
  }, 180_000);
});

describe.runIf(FULL)('alerts over a runtime that starts containers', { timeout: 3 * LIMIT_MS }, () => {
  let lab: AlertsHarness<EmbeddedChaosNode>;

  beforeAll(async () => {
    lab = await AlertsHarness.over(await EmbeddedChaosNode.start(), ['--mode', 'generic']);
    await vi.waitFor(() => expect(lab.series.find({ name: 'up', matchers: [] })).toHaveLength(3), LIMIT_MS);
  }, LIMIT_MS);

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  }, LIMIT_MS);

  /** Puts down as many pods and waits until these fire; then it takes them away and waits for silence. */
  async function withPods(count: number, container: object, ...alerts: readonly string[]): Promise<void> {
    const file = join(lab.node.folder, 'manifests/pods.json');
    const items = Array.from({ length: count }, (_, at) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${at}` } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'podloop.local/host', ...container }],
      },
    }));
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await fires(...alerts);
    await rm(file);
    await isSilent();
  }

  const fires = (...alerts: readonly string[]): Promise<void> =>
    vi.waitFor(() => expect([...lab.firing]).toEqual(expect.arrayContaining([...alerts])), LIMIT_MS);
  const isSilent = (): Promise<void> => vi.waitFor(() => expect(alarms(lab)).toEqual([]), LIMIT_MS);
  const rule = (methods: string, fault: string): void =>
    lab.node.replaceRules(`rules: [{ name: r, match: { methods: [${methods}] }, fault: ${fault} }]`);

  it('PodloopUsageUnreadable: the runtime does not tell what pods use', async () => {
    rule('ListPodSandboxStats', '{ type: error, code: INTERNAL }');
    await fires('PodloopUsageUnreadable');
    lab.node.replaceRules('rules: []');
    await isSilent();
  });

  it('ContainersDoNotStart and PodWorkFails: images that are not there', async () => {
    const container = { image: 'no.such/image:1', imagePullPolicy: 'Never' };
    await withPods(12, container, 'ContainersDoNotStart', 'PodWorkFails');
  });

  it('SandboxesFail: the runtime makes none', async () => {
    rule('RunPodSandbox', '{ type: error, code: INTERNAL }');
    await withPods(6, {}, 'SandboxesFail');
    lab.node.replaceRules('rules: []');
  });

  it('LivenessFails: a probe that fails', async () => {
    const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1_000 };
    await withPods(1, { command: ['sleep', '600'], livenessProbe }, 'LivenessFails');
  });
});
