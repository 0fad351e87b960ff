import { describe, expect, it } from 'vitest';
import { CriClient } from '../../watch/cri/client.js';
import { aRule, ChaosHarness, followCall } from '#support/harness/chaos-harness.js';
import { untilTrue } from '#support/until-true.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

describe('a call that no rule hits', () => {
  it('is answered as the runtime answers, errors and unknown methods included', async () => {
    await using harness = await ChaosHarness.start(aRule('methods: [StopContainer]', 'type: hang'));
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
    await using harness = await ChaosHarness.start(aRule('methods: [Version]', 'type: delay, for: 10s'));
    const call = followCall(harness.client.version());
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
      aRule('methods: [Version]', 'type: delay, for: 10s, at: answer'),
    );
    const call = followCall(harness.client.version());
    await untilTrue(() => harness.arrived.length === 1 && harness.injections.length === 1);
    await harness.clock.advance(9_999);
    expect(call.state).toBe('open');
    await harness.clock.advance(1);
    await untilTrue(() => call.state === 'answered');
  });

  it('varies by its jitter, the same for the same seed', async () => {
    const details = async (seed: number): Promise<(string | undefined)[]> => {
      const text = aRule('methods: [Version]', 'type: delay, for: 1s, jitter: 1s');
      await using harness = await ChaosHarness.start(text, { seed });
      for (let i = 1; i <= 5; i++) {
        const call = followCall(harness.client.version());
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
      aRule(
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
      aRule('methods: [Version]', 'type: error, code: DEADLINE_EXCEEDED, at: answer'),
    );
    await expect(harness.client.version()).rejects.toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
    expect(harness.arrived).toEqual(['Version']);
    // The connection is as good as before.
    expect((await harness.client.listPodSandbox()).items).toHaveLength(2);
  });
});

describe('a hang', () => {
  it('lasts until its client gives it up, and holds up no other call', async () => {
    await using harness = await ChaosHarness.start(aRule('methods: [Version]', 'type: hang'));
    const stop = new AbortController();
    const call = followCall(harness.client.version({}, { signal: stop.signal }));
    await untilTrue(() => harness.injections.length === 1);
    await harness.clock.advance(3_600_000);
    expect((await harness.client.listPodSandbox()).items).toHaveLength(2);
    expect(call.state).toBe('open');
    stop.abort();
    await untilTrue(() => call.state !== 'open');
    expect(harness.arrived).toEqual(['ListPodSandbox']);
  });

  it('may be of many calls at once', async () => {
    await using harness = await ChaosHarness.start(aRule('methods: [Version]', 'type: hang'));
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', listen);
    const calls = Array.from({ length: 30 }, () => followCall(harness.client.version()));
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
    await using harness = await ChaosHarness.start(aRule('methods: [Version], until: 1m', 'type: hang'));
    const call = followCall(harness.client.version());
    await untilTrue(() => harness.injections.length === 1);
    await end(harness);
    await untilTrue(() => call.state === 'answered');
  });

  it('outlasts a reload that leaves its rule as it is', async () => {
    const text = aRule('methods: [Version]', 'type: hang');
    await using harness = await ChaosHarness.start(text);
    const call = followCall(harness.client.version());
    await untilTrue(() => harness.injections.length === 1);
    harness.replaceRules(`${text}  - {name: another, fault: {type: reset}, match: {methods: [Status]}}\n`);
    await harness.client.listPodSandbox();
    expect(call.state).toBe('open');
    harness.replaceRules('rules: []');
    await untilTrue(() => call.state === 'answered');
  });

  it('at the answer lets the runtime do as it was asked', async () => {
    await using harness = await ChaosHarness.start(aRule('methods: [Version]', 'type: hang, at: answer'));
    const call = followCall(harness.client.version());
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
    const hung = followCall(harness.client.version());
    await harness.client.listContainers();
    await untilTrue(() => harness.injections.length === 1);
    await expect(harness.client.listContainers()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await untilTrue(() => hung.state === 'CRI_UNAVAILABLE');
    expect((await harness.client.listContainers()).containers).toHaveLength(2);
  });

  it('is cut when an outage begins, and none is made until it is over', async () => {
    await using harness = await ChaosHarness.start(aRule('after: 10s, until: 20s', 'type: outage'));
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

describe('a runtime', () => {
  it('says that its network is not ready, and all else as it was', async () => {
    await using harness = await ChaosHarness.start(
      aRule('share: 100%', 'type: not-ready, message: cni plugin not initialized'),
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
    harness.replaceRules(aRule('nth: 1', 'type: not-ready, condition: RuntimeReady'));
    const isReady = async (): Promise<boolean[]> =>
      ((await harness.client.status({})).status?.conditions ?? []).map(({ status: is }) => is);
    expect(await isReady()).toEqual([true, false]);
    expect(await isReady()).toEqual([true, true]);
  });
});

describe('what fails in a timer', () => {
  /** Records errors silently, and throws when it logs faults once `fails` is set. */
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
    await using harness = await ChaosHarness.start(aRule('', 'type: end-stream, openFor: 5s'), { logger });
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
    await using harness = await ChaosHarness.start(aRule('after: 5s', 'type: outage'), { logger });
    await harness.client.version();
    logger.fails = true;
    await harness.clock.advance(5_000);
    await untilTrue(() => harness.proxy.counts.openConnections === 0);
    expect(logger.errors).toEqual(['The time of a rule could not be recorded']);
  });
});
