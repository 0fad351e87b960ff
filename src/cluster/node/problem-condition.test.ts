import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { ApiError } from '../client/kube-client.js';
import { findTypeProblem, ProblemCondition } from './problem-condition.js';

const NODE = '/api/v1/nodes/here';
const TYPE = 'PodloopProblem';
const MINUTE_MS = 60_000;
const READY = { type: 'Ready', status: 'True', reason: 'KubeletReady' };

describe('the condition of a Node', () => {
  let clock: FakeClock;
  let api: InMemoryApi;
  let logger: LogRecorder;
  let stop: AbortController;
  let condition: ProblemCondition;
  let running: Promise<void>;

  const start = (): void => {
    condition = new ProblemCondition({ client: api, nodeName: 'here', type: TYPE, clock, logger });
    running = condition.run(stop.signal);
  };
  const conditions = (): unknown => (api.find(NODE)?.status as { conditions: unknown }).conditions;
  const hung = (message = 'the status of pod default/web hangs') => ({
    isTrue: true,
    reason: 'PodHung',
    message,
  });
  const well = { isTrue: false, reason: 'NoProblem', message: 'no critical finding' };

  beforeEach(() => {
    clock = new FakeClock();
    api = new InMemoryApi({ clock });
    logger = new LogRecorder();
    stop = new AbortController();
    api.put(NODE, { metadata: { name: 'here' }, status: { conditions: [READY] } });
    start();
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  it('stands beside those of the kubelet, and keeps the time of its last change', async () => {
    condition.set(well);
    await clock.advance(0);
    condition.set(hung());
    await clock.advance(MINUTE_MS);
    expect(conditions()).toEqual([
      READY,
      {
        ...{ type: TYPE, status: 'True', reason: 'PodHung', message: 'the status of pod default/web hangs' },
        ...{ lastHeartbeatTime: '2026-01-02T03:04:15Z', lastTransitionTime: '2026-01-02T03:04:15Z' },
      },
    ]);
    expect(api.changes.map(({ path }) => path)).toEqual([`${NODE}/status`, `${NODE}/status`]);
    // A heartbeat says that the node was examined since.
    await clock.advance(4 * MINUTE_MS);
    expect(api.changes).toHaveLength(2);
    condition.set(hung());
    await clock.advance(MINUTE_MS);
    expect(conditions()).toMatchObject([
      READY,
      { lastHeartbeatTime: '2026-01-02T03:09:15Z', lastTransitionTime: '2026-01-02T03:04:15Z' },
    ]);
  });

  it('has no heartbeat while nobody examines the node', async () => {
    condition.set(hung());
    await clock.advance(60 * MINUTE_MS);
    expect(api.changes).toHaveLength(1);
  });

  it('is written at most once in ten seconds, and its words once a minute', async () => {
    for (let second = 0; second < 60; second++) {
      condition.set(second % 2 === 0 ? well : hung());
      await clock.advance(1_000);
    }
    expect(api.changes.length).toBeLessThanOrEqual(7);
    condition.set(hung());
    await clock.advance(20_000);
    const before = api.changes.length;
    for (let second = 0; second < 240; second++) {
      condition.set(hung(`for ${second}s`));
      await clock.advance(1_000);
    }
    expect(api.changes.length - before).toBeLessThanOrEqual(5);
  });

  it('goes on from what an observer before has left', async () => {
    const left = {
      type: TYPE,
      status: 'True',
      reason: 'PodHung',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    api.put(NODE, { metadata: { name: 'here' }, status: { conditions: [READY, left] } });
    condition.set(hung());
    await clock.advance(0);
    expect(conditions()).toMatchObject([READY, { lastTransitionTime: '2026-01-01T00:00:00Z' }]);
  });

  it('waits for an API server that is away, with the newest state alone, and says so once', async () => {
    api.stop();
    condition.set(hung());
    await clock.advance(20 * MINUTE_MS);
    condition.set(well);
    await clock.advance(20 * MINUTE_MS);
    expect(logger.complaints).toHaveLength(1);
    api.start();
    await clock.advance(3 * MINUTE_MS);
    expect(conditions()).toMatchObject([READY, { type: TYPE, status: 'False' }]);
    expect(condition.stats.written).toBe(1);
    expect(condition.stats.failed).toBeGreaterThan(5);
  });

  it('names the rights that are missing', async () => {
    api.intercept = () => {
      throw new ApiError(403, 'Forbidden', 'nodes "here" is forbidden');
    };
    condition.set(hung());
    await clock.advance(0);
    expect(logger.complaints[0]?.message).toContain('to patch nodes/status');
  });

  it('is taken away at the end, and nothing is written where nothing was', async () => {
    await condition.remove(new AbortController().signal);
    expect(api.changes).toEqual([]);
    condition.set(hung());
    await clock.advance(0);
    await condition.remove(new AbortController().signal);
    expect(conditions()).toEqual([READY]);
  });
});

it.each(['Ready', 'MemoryPressure', 'NetworkUnavailable', '', 'a b', '1', 'x-'])(
  '%j cannot be its type',
  (type) => {
    expect(findTypeProblem(type)).toBeDefined();
  },
);

it.each(['PodloopProblem', 'example.com/Podloop', 'X'])('%s can be its type', (type) => {
  expect(findTypeProblem(type)).toBeUndefined();
});
