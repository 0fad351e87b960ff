import { describe, expect, it } from 'vitest';
import { CriClient } from '../cri/client.js';
import { ChaosHarness, idsOf } from '../testing/chaos-harness.js';
import { untilTrue } from '../testing/until-true.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';

const WEB = { containerId: idsOf('web').containerId };
const DB = { containerId: idsOf('db').containerId };

/** A rules file of one rule. */
function rule(match: string, fault: string): string {
  return `rules:\n  - name: it\n    match: {${match}}\n    fault: {${fault}}\n`;
}

/** How a call ends, or that it has not. */
function follow(call: Promise<unknown>): { state: string } {
  const followed = { state: 'open' };
  call.then(
    () => (followed.state = 'answered'),
    (error: unknown) => (followed.state = String((error as { code?: string }).code)),
  );
  return followed;
}

describe('a call that no rule hits', () => {
  it('is answered as the runtime answers, errors and unknown methods included', async () => {
    await using harness = await ChaosHarness.start(rule('methods: [StopContainer]', 'type: hang'));
    const { client } = harness;
    expect((await client.version()).runtimeName).toBe('test');
    expect((await client.listContainers()).containers).toHaveLength(2);
    await expect(client.runtimeConfig()).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
    const stream = async (): Promise<void> => {
      for await (const message of client.streamContainers()) expect(message).toBeUndefined();
    };
    await expect(stream()).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
    expect(harness.injections).toEqual([]);
  });
});

describe('a delay', () => {
  it('keeps the request from the runtime for as long as it says', async () => {
    await using harness = await ChaosHarness.start(rule('methods: [Version]', 'type: delay, for: 10s'));
    const call = follow(harness.client.version());
    await untilTrue(() => harness.injections.length === 1);
    await harness.clock.advance(9_999);
    expect(harness.arrived).toEqual([]);
    await harness.clock.advance(1);
    await untilTrue(() => call.state === 'answered');
    expect(harness.injections).toMatchObject([
      { rule: 'it', fault: 'delay', method: 'Version', detail: '10s' },
    ]);
  });

  it('at the answer lets the runtime do as it was asked', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [Version]', 'type: delay, for: 10s, at: answer'),
    );
    const call = follow(harness.client.version());
    await untilTrue(() => harness.arrived.length === 1 && harness.injections.length === 1);
    await harness.clock.advance(9_999);
    expect(call.state).toBe('open');
    await harness.clock.advance(1);
    await untilTrue(() => call.state === 'answered');
  });

  it('varies by its jitter, the same for the same seed', async () => {
    const details = async (seed: number): Promise<(string | undefined)[]> => {
      const text = rule('methods: [Version]', 'type: delay, for: 1s, jitter: 1s');
      await using harness = await ChaosHarness.start(text, { seed });
      for (let i = 1; i <= 5; i++) {
        const call = follow(harness.client.version());
        await untilTrue(() => harness.injections.length === i);
        await harness.clock.advance(2_000);
        await untilTrue(() => call.state === 'answered');
      }
      return harness.injections.map(({ detail }) => detail);
    };
    const first = await details(7);
    expect(new Set(first).size).toBe(5);
    for (const detail of first) expect(detail).toMatch(/^1\.\d+s$/);
    expect(await details(7)).toEqual(first);
    expect(await details(8)).not.toEqual(first);
  });
});

describe('an error', () => {
  it('answers in the runtime’s place, which never gets the request', async () => {
    await using harness = await ChaosHarness.start(
      rule(
        'methods: [/runtime.v1.RuntimeService/Version]',
        'type: error, code: RESOURCE_EXHAUSTED, message: "50 % «voll»"',
      ),
    );
    await expect(harness.client.version()).rejects.toMatchObject({
      code: 'CRI_RESOURCE_EXHAUSTED',
      message: expect.stringContaining('50 % «voll»') as string,
    });
    expect(harness.arrived).toEqual([]);
    expect((await harness.client.listContainers()).containers).toHaveLength(2);
  });

  it('at the answer hides that the runtime did as it was asked', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [Version]', 'type: error, code: DEADLINE_EXCEEDED, at: answer'),
    );
    await expect(harness.client.version()).rejects.toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
    expect(harness.arrived).toEqual(['Version']);
    // The connection is as good as before.
    expect((await harness.client.listPodSandbox()).items).toHaveLength(2);
  });
});

describe('a hang', () => {
  it('lasts until its client gives it up, and holds up no other call', async () => {
    await using harness = await ChaosHarness.start(rule('methods: [Version]', 'type: hang'));
    const stop = new AbortController();
    const call = follow(harness.client.version({}, { signal: stop.signal }));
    await untilTrue(() => harness.injections.length === 1);
    await harness.clock.advance(3_600_000);
    expect((await harness.client.listPodSandbox()).items).toHaveLength(2);
    expect(call.state).toBe('open');
    stop.abort();
    await untilTrue(() => call.state !== 'open');
    expect(harness.arrived).toEqual(['ListPodSandbox']);
  });

  it('may be of many calls at once', async () => {
    await using harness = await ChaosHarness.start(rule('methods: [Version]', 'type: hang'));
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', listen);
    const calls = Array.from({ length: 30 }, () => follow(harness.client.version()));
    await untilTrue(() => harness.injections.length === 30);
    harness.replaceRules('rules: []');
    await untilTrue(() => calls.every(({ state }) => state === 'answered'));
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['its time is over', async (harness: ChaosHarness) => harness.clock.advance(60_000)],
    ['its rule is gone', async (harness: ChaosHarness) => harness.replaceRules('rules: []')],
  ])('ends when %s: the request goes on', async (_when, end) => {
    await using harness = await ChaosHarness.start(rule('methods: [Version], until: 1m', 'type: hang'));
    const call = follow(harness.client.version());
    await untilTrue(() => harness.injections.length === 1);
    await end(harness);
    await untilTrue(() => call.state === 'answered');
  });

  it('outlasts a reload that leaves its rule as it is', async () => {
    const text = rule('methods: [Version]', 'type: hang');
    await using harness = await ChaosHarness.start(text);
    const call = follow(harness.client.version());
    await untilTrue(() => harness.injections.length === 1);
    harness.replaceRules(`${text}  - {name: another, fault: {type: reset}, match: {methods: [Status]}}\n`);
    await harness.client.listPodSandbox();
    expect(call.state).toBe('open');
    harness.replaceRules('rules: []');
    await untilTrue(() => call.state === 'answered');
  });

  it('at the answer lets the runtime do as it was asked', async () => {
    await using harness = await ChaosHarness.start(rule('methods: [Version]', 'type: hang, at: answer'));
    const call = follow(harness.client.version());
    await untilTrue(() => harness.arrived.length === 1 && harness.injections.length === 1);
    expect(call.state).toBe('open');
    harness.replaceRules('rules: []');
    await untilTrue(() => call.state === 'answered');
  });
});

describe('a connection', () => {
  it('that is reset takes every call on it along, and the next one is as new', async () => {
    await using harness = await ChaosHarness.start(
      'rules:\n' +
        '  - {name: hang, match: {methods: [Version]}, fault: {type: hang}}\n' +
        '  - {name: cut, match: {methods: [ListContainers], nth: 2}, fault: {type: reset}}\n',
    );
    const hung = follow(harness.client.version());
    await harness.client.listContainers();
    await untilTrue(() => harness.injections.length === 1);
    await expect(harness.client.listContainers()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await untilTrue(() => hung.state === 'CRI_UNAVAILABLE');
    expect((await harness.client.listContainers()).containers).toHaveLength(2);
  });

  it('is cut when an outage begins, and none is made until it is over', async () => {
    await using harness = await ChaosHarness.start(rule('after: 10s, until: 20s', 'type: outage'));
    expect((await harness.client.version()).runtimeName).toBe('test');
    const events = harness.readEvents();
    await harness.emit('started', 'web');
    await untilTrue(() => events.length === 1);
    await harness.clock.advance(10_000);
    await untilTrue(() => events.at(-1) === 'CRI_UNAVAILABLE');
    await expect(harness.client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await harness.clock.advance(10_000);
    // gRPC waits a little before it tries again.
    const answered: string[] = [];
    while (answered.length === 0) {
      await harness.client.version().then(
        ({ runtimeName }) => void answered.push(runtimeName),
        () => undefined,
      );
    }
    expect(answered).toEqual(['test']);
    expect(harness.injections[0]).toMatchObject({ fault: 'outage', detail: '1 connections cut' });
  });
});

describe('a rule that names pods', () => {
  it.each(['default/web', 'web', 'uid-web', 'sandbox-of-w'])(
    'hits calls about the pod %s alone, once it was listed',
    async (name) => {
      await using harness = await ChaosHarness.start(
        rule(`methods: [ContainerStatus, PodSandboxStatus], pods: [${name}]`, 'type: error'),
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
        rule('methods: [ContainerStatus], pods: [default/web]', 'type: error'),
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
      rule('methods: [ListContainers], pods: [web]', 'type: truncate-list'),
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
    const list = follow(harness.client.listContainers());
    await untilTrue(() => harness.injections.length === 1);
    await harness.clock.advance(1_000);
    await untilTrue(() => list.state === 'answered');
    await expect(harness.client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });

  it('learns from events of which no rule is about', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [PodSandboxStatus], pods: [web]', 'type: error'),
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
      rule(`methods: [ContainerStatus], pods: [web], containers: [${name}]`, 'type: error'),
    );
    await harness.client.listContainers();
    await expect(harness.client.containerStatus(WEB)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect((await harness.client.containerStatus(DB)).status?.id).toBe(DB.containerId);
  });

  it('hits nothing about an id that was never told, and learns from a status', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [ContainerStatus], pods: [web]', 'type: error'),
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

describe('a rule hits', () => {
  async function outcomes(match: string, calls: number, seed = 1): Promise<string> {
    await using harness = await ChaosHarness.start(rule(`methods: [Version], ${match}`, 'type: error'), {
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
    const text = rule('methods: [Version], after: 10s, until: 20s', 'type: error');
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

describe('a list', () => {
  it('loses all but its first items', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [ListContainers]', 'type: truncate-list, keep: 1'),
    );
    const { containers } = await harness.client.listContainers();
    expect(containers.map(({ id }) => id)).toEqual([WEB.containerId]);
    expect(containers[0]).toMatchObject({
      metadata: { name: 'app' },
      labels: { 'io.kubernetes.pod.name': 'web' },
    });
    expect(harness.injections).toMatchObject([{ detail: '1 of 2 items left out' }]);
    expect((await harness.client.listPodSandbox()).items).toHaveLength(2);
  });

  it('loses what belongs to some pods', async () => {
    await using harness = await ChaosHarness.start(rule('pods: [default/web]', 'type: truncate-list'));
    expect((await harness.client.listContainers()).containers.map(({ id }) => id)).toEqual([DB.containerId]);
    expect((await harness.client.listPodSandbox()).items.map(({ metadata }) => metadata?.name)).toEqual([
      'db',
    ]);
  });

  it('is an older answer, once there is one', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [ListContainers]', 'type: stale-list, behind: 2'),
    );
    const attempts: number[] = [];
    for (let i = 0; i < 6; i++) {
      const { containers } = await harness.client.listContainers();
      attempts.push(containers[0]!.metadata!.attempt);
    }
    expect(attempts).toEqual([0, 1, 0, 1, 2, 3]);
    expect(harness.injections).toHaveLength(4);
  });

  it('is remembered no further back than a rule asks for', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [ListContainers], nth: 4', 'type: stale-list, behind: 3'),
    );
    const attempts: number[] = [];
    for (let i = 0; i < 6; i++) {
      if (i === 5) harness.replaceRules(rule('methods: [ListContainers]', 'type: stale-list, behind: 5'));
      const { containers } = await harness.client.listContainers();
      attempts.push(containers[0]!.metadata!.attempt);
    }
    // Of the last one nothing older than three before is there any more.
    expect(attempts).toEqual([0, 1, 2, 0, 4, 5]);
  });

  it('grows over a client’s limit, and says the same to one without', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [ListContainers]', 'type: grow-list, toMiB: 16'),
    );
    await expect(harness.client.listContainers()).rejects.toMatchObject({ code: 'CRI_RESOURCE_EXHAUSTED' });
    harness.replaceRules(rule('methods: [ListContainers]', 'type: grow-list, toMiB: 4'));
    expect((await harness.client.listContainers()).containers).toHaveLength(2);
  });
});

describe('a runtime', () => {
  it('says that its network is not ready, and all else as it was', async () => {
    await using harness = await ChaosHarness.start(
      rule('share: 100%', 'type: not-ready, message: cni plugin not initialized'),
    );
    const { status, info } = await harness.client.status({});
    expect(status?.conditions).toMatchObject([
      { type: 'RuntimeReady', status: true },
      {
        ...{ type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady' },
        message: 'cni plugin not initialized',
      },
    ]);
    expect(info).toEqual({ config: '{}' });
    // It is about no other call.
    await harness.client.version({});
    expect(harness.injections).toMatchObject([{ method: 'Status', detail: 'NetworkReady is false' }]);
    harness.replaceRules(rule('nth: 1', 'type: not-ready, condition: RuntimeReady'));
    const isReady = async (): Promise<boolean[]> =>
      ((await harness.client.status({})).status?.conditions ?? []).map(({ status: is }) => is);
    expect(await isReady()).toEqual([true, false]);
    expect(await isReady()).toEqual([true, true]);
  });
});

describe('events', () => {
  it('pass in order when no rule hits', async () => {
    await using harness = await ChaosHarness.start('rules: []');
    const seen = harness.readEvents();
    for (const kind of ['created', 'started', 'stopped'] as const) await harness.emit(kind, 'web');
    await untilTrue(() => seen.length === 3);
    expect(seen).toEqual(['created web', 'started web', 'stopped web']);
  });

  it('are dropped, by kind and by pod, on a stream that was open before the rule was there', async () => {
    await using harness = await ChaosHarness.start('rules: []');
    const seen = harness.readEvents();
    await harness.emit('started', 'web');
    await untilTrue(() => seen.length === 1);
    harness.replaceRules(rule('events: [stopped], pods: [web]', 'type: drop-events'));
    for (const kind of ['stopped', 'deleted'] as const) {
      for (const pod of ['web', 'db']) await harness.emit(kind, pod);
    }
    await untilTrue(() => seen.length === 4);
    expect(seen).toEqual(['started web', 'stopped db', 'deleted web', 'deleted db']);
    expect(harness.injections).toMatchObject([
      {
        fault: 'drop-events',
        method: 'GetContainerEvents',
        pod: { name: 'web' },
        containerId: WEB.containerId,
      },
    ]);
  });

  it('come twice and more', async () => {
    await using harness = await ChaosHarness.start(rule('every: 2', 'type: duplicate-events, copies: 2'));
    const seen = harness.readEvents();
    for (const pod of ['web', 'db']) await harness.emit('started', pod);
    await untilTrue(() => seen.length === 4);
    expect(seen).toEqual(['started web', 'started db', 'started db', 'started db']);
  });

  it('come late, and let others overtake them', async () => {
    await using harness = await ChaosHarness.start(rule('pods: [web]', 'type: delay-events, for: 5s'));
    const seen = harness.readEvents();
    for (const pod of ['web', 'db', 'web']) await harness.emit('stopped', pod);
    await untilTrue(() => seen.length === 1 && harness.injections.length === 2);
    await harness.clock.advance(4_999);
    expect(seen).toEqual(['stopped db']);
    await harness.clock.advance(1);
    await untilTrue(() => seen.length === 3);
  });

  it('come in another order, when there are enough or when it has been long', async () => {
    await using harness = await ChaosHarness.start(rule('', 'type: reorder-events, among: 4, wait: 3s'), {
      seed: 5,
    });
    const seen = harness.readEvents();
    const sent = ['created', 'started', 'stopped', 'deleted'] as const;
    for (const kind of sent) await harness.emit(kind, 'web');
    await untilTrue(() => seen.length === 4);
    expect(seen).not.toEqual(sent.map((kind) => `${kind} web`));
    expect([...seen].sort()).toEqual(sent.map((kind) => `${kind} web`).sort());
    await harness.emit('created', 'db');
    await untilTrue(() => harness.injections.length === 5);
    expect(seen).toHaveLength(4);
    await harness.clock.advance(3_000);
    await untilTrue(() => seen.length === 5);
  });

  it.each([
    ['type: end-stream', 'ended'],
    ['type: end-stream, code: UNAVAILABLE', 'CRI_UNAVAILABLE'],
  ])('end with the n-th one: %s', async (fault, end) => {
    await using harness = await ChaosHarness.start(rule('nth: 2', fault));
    const seen = harness.readEvents();
    await harness.emit('created', 'web');
    await untilTrue(() => seen.length === 1);
    await harness.emit('started', 'web');
    await untilTrue(() => seen.length === 2);
    expect(seen).toEqual(['created web', end]);
    // The next stream is none of the rule's business.
    const next = harness.readEvents();
    await untilTrue(() => harness.arrived.length === 2);
    await harness.emit('stopped', 'db');
    await untilTrue(() => next.length === 1);
  });

  it('end some time after their stream was opened', async () => {
    await using harness = await ChaosHarness.start(rule('', 'type: end-stream, openFor: 30s'));
    const seen = harness.readEvents();
    await harness.emit('created', 'web');
    await untilTrue(() => seen.length === 1);
    await harness.clock.advance(30_000);
    await untilTrue(() => seen.length === 2);
    expect(seen).toEqual(['created web', 'ended']);
  });

  it('are as any call to rules of calls', async () => {
    await using harness = await ChaosHarness.start(
      rule('methods: [GetContainerEvents]', 'type: error, code: UNIMPLEMENTED'),
    );
    const seen = harness.readEvents();
    await untilTrue(() => seen.length === 1);
    expect(seen).toEqual(['CRI_UNIMPLEMENTED']);
    expect(harness.arrived).toEqual([]);
  });
});

describe('what fails in a timer', () => {
  /** Says nothing, keeps errors, and fails to tell of faults once it is told to. */
  function failingLogger(): Logger & { errors: string[]; fails: boolean } {
    const logger = {
      ...SILENT_LOGGER,
      errors: [] as string[],
      fails: false,
      enabled: () => true,
      info: () => {
        if (logger.fails) throw new Error('no room to write');
      },
      error: (message: string) => void logger.errors.push(message),
    };
    return logger;
  }

  it('costs the connection that it is about, is logged, and nothing else notices', async () => {
    const logger = failingLogger();
    await using harness = await ChaosHarness.start(rule('', 'type: end-stream, openFor: 5s'), { logger });
    const seen = harness.readEvents();
    await harness.emit('created', 'web');
    await untilTrue(() => seen.length === 1);
    const other = new CriClient({ endpoint: harness.proxy.endpoint });
    await other.version();
    logger.fails = true;
    await harness.clock.advance(5_000);
    await untilTrue(() => seen.length === 2);
    logger.fails = false;
    expect(seen).toEqual(['created web', 'CRI_UNAVAILABLE']);
    expect(logger.errors).toEqual(['A fault could not be injected, the connection is cut']);
    expect((await other.version()).runtimeName).toBe('test');
    expect(harness.proxy.counts).toEqual({ connections: 2, openConnections: 1 });
    other.close();
  });

  it('stops no outage', async () => {
    const logger = failingLogger();
    await using harness = await ChaosHarness.start(rule('after: 5s', 'type: outage'), { logger });
    await harness.client.version();
    logger.fails = true;
    await harness.clock.advance(5_000);
    await untilTrue(() => harness.proxy.counts.openConnections === 0);
    expect(logger.errors).toEqual(['The time of a rule could not be kept']);
  });
});
