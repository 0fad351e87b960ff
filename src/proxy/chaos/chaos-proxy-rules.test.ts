import { describe, expect, it } from 'vitest';
import { aRule, ChaosHarness, followCall, idsOf } from '#support/harness/chaos-harness.js';
import { untilTrue } from '#support/until-true.js';

const WEB = { containerId: idsOf('web').containerId };
const DB = { containerId: idsOf('db').containerId };

describe('a rule that names pods', () => {
  it.each(['default/web', 'web', 'uid-web', 'sandbox-of-w'])(
    'hits calls about the pod %s alone, once it was listed',
    async (name) => {
      await using harness = await ChaosHarness.start(
        aRule(`methods: [ContainerStatus, PodSandboxStatus], pods: [${name}]`, 'type: error'),
      );
      const { client } = harness;
      await client.listPodSandbox();
      await client.listContainers();
      await expect(client.podSandboxStatus({ podSandboxId: idsOf('web').sandboxId })).rejects.toMatchObject({
        code: 'CRI_UNAVAILABLE',
      });
      await expect(client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
      expect((await client.containerStatus(DB)).status?.id).toBe(DB.containerId);
      expect(harness.injections[1]).toMatchObject({
        ...{ method: 'ContainerStatus', pod: { uid: 'uid-web', namespace: 'default', name: 'web' } },
        ...{ container: 'app', containerId: WEB.containerId },
      });
    },
  );

  it.each(['listContainers', 'listPodSandbox'] as const)(
    'knows containers without labels by their sandbox, after lists of both that began with %s',
    async (first) => {
      await using harness = await ChaosHarness.start(
        aRule('methods: [ContainerStatus], pods: [default/web]', 'type: error'),
        { labels: false },
      );
      const { client } = harness;
      await client[first]();
      await client.listPodSandbox();
      await client.listContainers();
      await expect(client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
      expect((await client.containerStatus(DB)).status?.id).toBe(DB.containerId);
      expect(harness.injections).toMatchObject([{ pod: { uid: 'uid-web', name: 'web' }, container: 'app' }]);
    },
  );

  it('leaves containers without labels out of a list, too', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [ListContainers], pods: [web]', 'type: truncate-list'),
      { labels: false },
    );
    await harness.client.listPodSandbox();
    expect((await harness.client.listContainers()).containers.map(({ id }) => id)).toEqual([DB.containerId]);
  });

  it('learns from answers that another rule delays', async () => {
    await using harness = await ChaosHarness.start(
      'rules:\n' +
        '  - {name: late, match: {methods: [ListContainers]}, fault: {type: delay, for: 1s, at: answer}}\n' +
        '  - {name: web, match: {methods: [ContainerStatus], pods: [web]}, fault: {type: error}}\n',
    );
    const list = followCall(harness.client.listContainers());
    await untilTrue(() => harness.injections.length === 1);
    await harness.clock.advance(1_000);
    await untilTrue(() => list.state === 'answered');
    await expect(harness.client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });

  it('learns from events of which no rule is about', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [PodSandboxStatus], pods: [web]', 'type: error'),
    );
    const seen = harness.readEvents();
    await harness.emit('started', 'web');
    await untilTrue(() => seen.length === 1);
    const { sandboxId } = idsOf('web');
    await expect(harness.client.podSandboxStatus({ podSandboxId: sandboxId })).rejects.toMatchObject({
      code: 'CRI_UNAVAILABLE',
    });
  });

  it.each(['app', 'container-of-web'])('or containers, by %s', async (name) => {
    await using harness = await ChaosHarness.start(
      aRule(`methods: [ContainerStatus], pods: [web], containers: [${name}]`, 'type: error'),
    );
    await harness.client.listContainers();
    await expect(harness.client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect((await harness.client.containerStatus(DB)).status?.id).toBe(DB.containerId);
  });

  it('hits nothing about an id that was never told, and learns from a status', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [ContainerStatus], pods: [web]', 'type: error'),
    );
    expect((await harness.client.containerStatus(WEB)).status?.id).toBe(WEB.containerId);
    await expect(harness.client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });

  it('knows pods and containers from the calls that make them', async () => {
    await using harness = await ChaosHarness.start(
      'rules:\n' +
        '  - {name: run, match: {methods: [RunPodSandbox], pods: [default/bad]}, fault: {type: error}}\n' +
        '  - {name: create, match: {methods: [CreateContainer], pods: [web], containers: [sick]}, fault: {type: error}}\n' +
        '  - {name: start, match: {methods: [StartContainer], pods: [web], containers: [app]}, fault: {type: error, code: ABORTED}}\n',
    );
    const { client } = harness;
    const config = (name: string) => ({ metadata: { name, namespace: 'default', uid: `uid-${name}` } });
    await expect(client.runPodSandbox({ config: config('bad') })).rejects.toMatchObject({
      code: 'CRI_UNAVAILABLE',
    });
    const { podSandboxId } = await client.runPodSandbox({ config: config('web') });
    const create = (name: string) => client.createContainer({ podSandboxId, config: { metadata: { name } } });
    await expect(create('sick')).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    const { containerId } = await create('app');
    await expect(client.startContainer({ containerId })).rejects.toMatchObject({ code: 'CRI_ABORTED' });
    await expect(client.startContainer(DB)).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
  });
});

describe('a rule that names a container which was just created', () => {
  const podConfig = { metadata: { name: 'web', namespace: 'default', uid: 'uid-web' } };

  describe.each(['containers: [post]', 'pods: [web]', 'pods: [uid-web], containers: [post]'])(
    '%s',
    (match) => {
      const naming = aRule(`methods: [ExecSync, StartContainer], ${match}`, 'type: error');

      it.each([
        ['from the beginning', naming, undefined],
        ['since the sandbox was created', 'rules: []', 'sandbox'],
        ['since the container was created', 'rules: []', 'container'],
        ['in place of a rule for other calls', aRule('methods: [Version]', 'type: error'), 'container'],
      ])('hits the first call about it, being in force %s', async (_since, first, replacedAfter) => {
        await using harness = await ChaosHarness.start(first);
        const { client } = harness;
        const { podSandboxId } = await client.runPodSandbox({ config: podConfig });
        if (replacedAfter === 'sandbox') harness.replaceRules(naming);
        const config = { metadata: { name: 'post' } };
        const { containerId } = await client.createContainer({ podSandboxId, config });
        if (replacedAfter === 'container') harness.replaceRules(naming);
        await expect(client.execSync({ containerId, cmd: ['true'] })).rejects.toMatchObject({
          code: 'CRI_UNAVAILABLE',
        });
        expect(harness.injections).toMatchObject([
          { method: 'ExecSync', pod: { uid: 'uid-web' }, container: 'post', containerId },
        ]);
      });
    },
  );

  it('hits it when it came into force while the container was being created', async () => {
    const late =
      '{name: late, match: {methods: [CreateContainer]}, fault: {type: delay, for: 1s, at: answer}}';
    await using harness = await ChaosHarness.start(`rules: [${late}]`);
    const { client } = harness;
    const { podSandboxId } = await client.runPodSandbox({ config: podConfig });
    const creation = client.createContainer({ podSandboxId, config: { metadata: { name: 'post' } } });
    await untilTrue(() => harness.injections.length === 1);
    harness.replaceRules(
      `rules: [${late}, {name: exec, match: {methods: [ExecSync], containers: [post]}, fault: {type: error}}]`,
    );
    await harness.clock.advance(1_000);
    const { containerId } = await creation;
    await expect(client.execSync({ containerId, cmd: ['true'] })).rejects.toMatchObject({
      code: 'CRI_UNAVAILABLE',
    });
  });
});

describe('a rule hits', () => {
  async function outcomes(match: string, calls: number, seed = 1): Promise<string> {
    await using harness = await ChaosHarness.start(aRule(`methods: [Version], ${match}`, 'type: error'), {
      seed,
    });
    let outcome = '';
    for (let i = 0; i < calls; i++) {
      outcome += await harness.client.version().then(
        () => '.',
        () => 'x',
      );
    }
    return outcome;
  }

  it('the n-th call, or every so many-th', async () => {
    expect(await outcomes('nth: 3', 7)).toBe('..x....');
    expect(await outcomes('every: 3', 7)).toBe('..x..x.');
  });

  it('a share of the calls, the same ones for the same seed', async () => {
    const first = await outcomes('share: 50%', 60);
    const hits = first.replaceAll('.', '').length;
    expect(hits).toBeGreaterThan(15);
    expect(hits).toBeLessThan(45);
    expect(await outcomes('share: 0.5', 60)).toBe(first);
    expect(await outcomes('share: 0.5', 60, 2)).not.toBe(first);
  });

  it('within its window of time, which begins anew when rules are read', async () => {
    const text = aRule('methods: [Version], after: 10s, until: 20s', 'type: error');
    await using harness = await ChaosHarness.start(text);
    const call = async (): Promise<string> =>
      harness.client.version().then(
        () => '.',
        () => 'x',
      );
    let outcome = await call();
    for (let i = 0; i < 2; i++) {
      await harness.clock.advance(10_000);
      outcome += await call();
    }
    harness.replaceRules(text);
    await harness.clock.advance(10_000);
    outcome += await call();
    expect(outcome).toBe('.x.x');
  });

  it('before the rules behind it, which do not count what it took', async () => {
    await using harness = await ChaosHarness.start(
      'rules:\n' +
        '  - {name: first, match: {methods: [Version], nth: 1}, fault: {type: error, code: ABORTED}}\n' +
        '  - {name: second, match: {methods: [Version], nth: 1}, fault: {type: error}}\n',
    );
    await expect(harness.client.version()).rejects.toMatchObject({ code: 'CRI_ABORTED' });
    await expect(harness.client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect((await harness.client.version()).runtimeName).toBe('test');
    expect(harness.proxy.injected).toEqual([
      { rule: 'first', fault: 'error', method: 'Version', count: 1 },
      { rule: 'second', fault: 'error', method: 'Version', count: 1 },
    ]);
  });
});
