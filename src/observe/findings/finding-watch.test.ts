import { describe, expect, it, onTestFinished } from 'vitest';
import { type Finding, type NodeFacts } from '#doctor';
import { aNode } from '#support/builders/node-facts-builder.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type QuickFacts } from './find-suspicions.js';
import { type Examination, FindingWatch } from './finding-watch.js';
import { type ObservedPort } from './observed-port.js';

const WELL: QuickFacts = {
  health: { healthy: true, listInFlightMs: undefined, stuckPodCount: 0 },
  ...{
    isConnected: true,
    longestListMs: 8,
    usualListMs: 5,
    ioFull: 0,
    memoryFull: 0,
    isKubeletHealthy: true,
    stoppedShims: 0,
    stoppedDaemons: 0,
    longOciCalls: 0,
  },
};
const AWAY: NodeFacts = aNode({
  runtime: {
    connection: {
      ...{ connected: false, attempts: 3, failures: 3, watchedMs: 3_000 },
      ...{ error: 'connection refused', code: 'CRI_UNAVAILABLE' },
    },
  },
});

function setUp({
  onChecked = () => undefined,
  cpuMs = 10,
}: {
  readonly onChecked?: () => void;
  /** What an examination takes. */
  readonly cpuMs?: number;
} = {}) {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const node = { quick: WELL, facts: aNode(), stopped: [] as readonly Finding[], hangs: false };
  const examinedAt: number[] = [];
  const examinations: Examination[] = [];
  const startedMs = clock.monotonicMs();
  const watch = new FindingWatch({
    port: { beginExamination: () => undefined } as unknown as ObservedPort,
    quickCheck: { read: async () => Promise.resolve(node.quick) },
    readKubelet: async () => Promise.resolve({ urls: [], healthzUrl: '', credentials: {} }),
    ...{ hostRoot: '/', clock, logger, onChecked },
    onExamined: (examination) => void examinations.push(examination),
    examine: async ({ signal }) => {
      examinedAt.push(Math.round((clock.monotonicMs() - startedMs) / 1_000));
      // Every call takes its whole time.
      if (node.hangs) await clock.sleep(30_000, signal);
      return { facts: node.facts };
    },
    findStopped: async () => Promise.resolve(node.stopped),
    readCpuUs: () => examinedAt.length * cpuMs * 1_000,
  });
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await running;
  });
  /** Passes so many seconds. */
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) await clock.advance(1_000);
  };
  return { clock, watch, node, examinedAt, examinations, logger, pass };
}

describe('the rules of the doctor, all the time', () => {
  it('are applied every two minutes while nothing seems wrong', async () => {
    const { examinedAt, pass } = setUp();
    await pass(300);
    expect(examinedAt).toEqual([10, 130, 250]);
  });

  it.each([
    { cpuMs: 100, restS: 120 },
    { cpuMs: 400, restS: 400 },
    { cpuMs: 4_000, restS: 600 },
  ])(
    'are applied so seldom that it takes little of a core, yet every ten minutes: $cpuMs ms',
    async ({ cpuMs, restS }) => {
      const { examinedAt, pass } = setUp({ cpuMs });
      await pass(10 + 2 * restS);
      expect(examinedAt).toEqual([10, 10 + restS, 10 + 2 * restS]);
    },
  );

  it('are not hurried by what lasts without a suspicion', async () => {
    const { node, examinedAt, pass } = setUp();
    node.facts = AWAY;
    await pass(500);
    expect(examinedAt).toEqual([10, 25, 55, 115, 235, 355, 475]);
  });

  it('are applied at once for a new suspicion, whatever else has lasted without one', async () => {
    const { node, examinedAt, pass } = setUp({ cpuMs: 400 });
    node.facts = AWAY;
    await pass(150);
    expect(examinedAt).toEqual([10, 25, 55, 115]);
    node.quick = { ...WELL, stoppedShims: 1 };
    await pass(5);
    expect(examinedAt.at(-1)).toBe(155);
    await pass(120);
    expect(examinedAt.slice(-3)).toEqual([155, 215, 275]);
  });

  it('are applied although the result of a quick check cannot be stored, which is logged', async () => {
    const onChecked = (): void => {
      throw new Error('no room');
    };
    const { examinedAt, logger, pass } = setUp({ onChecked });
    await pass(130);
    expect(examinedAt).toEqual([10, 130]);
    expect(logger.complaints[0]!.message).toBe('The result of a quick check could not be stored');
  });

  it('are applied at once when something seems wrong, and less and less often while nothing changes', async () => {
    const { node, examinedAt, pass } = setUp();
    await pass(60);
    node.quick = { ...WELL, isConnected: false };
    await pass(300);
    expect(examinedAt).toEqual([10, 65, 95, 155, 215, 275, 335]);
  });

  it('name a runtime that is stopped while the examination still waits for it', async () => {
    const { watch, node, examinations, pass } = setUp();
    await pass(20);
    node.hangs = true;
    node.stopped = [
      { code: 'RuntimeStopped', severity: 'critical', message: 'stopped', evidence: [], remedy: '' },
    ];
    node.quick = { ...WELL, health: { ...WELL.health, listInFlightMs: 4_000 } };
    await pass(10);
    expect(watch.active.map(({ finding }) => finding.code)).toEqual(['RuntimeStopped']);
    expect(examinations.at(-1)).toMatchObject({ facts: undefined, changes: { began: [{}] } });
  });

  it('notice soon that what was wrong is over, however long it has lasted', async () => {
    const { clock, watch, node, examinations, pass } = setUp();
    node.quick = { ...WELL, isConnected: false };
    node.facts = AWAY;
    await pass(600);
    expect(watch.active).toHaveLength(1);
    node.quick = WELL;
    node.facts = aNode();
    const mendedMs = clock.now();
    await pass(15);
    expect(watch.active).toEqual([]);
    const [ended] = examinations.flatMap(({ changes }) => changes.ended);
    expect(ended!.endedAtMs! - mendedMs).toBeLessThanOrEqual(5_000);
  });

  it('report what began and what ended, with its time, in the log as well', async () => {
    const { watch, node, examinations, logger, pass } = setUp();
    await pass(20);
    node.quick = { ...WELL, isConnected: false };
    node.facts = AWAY;
    await pass(10);
    expect(watch.active.map(({ finding }) => finding.code)).toEqual(['RuntimeNotRunning']);
    node.quick = WELL;
    node.facts = aNode();
    await pass(120);
    expect(watch.active).toEqual([]);
    const [ended] = examinations.flatMap(({ changes }) => changes.ended);
    expect(ended!.endedAtMs! - ended!.beganAtMs).toBeGreaterThan(0);
    const words = logger.lines
      .map(({ message }) => message)
      .filter((message) => message.startsWith('Finding'));
    expect(words).toEqual(['Finding began', 'Finding is over']);
  });
});
