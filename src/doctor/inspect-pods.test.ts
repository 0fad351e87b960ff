import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntimePort } from '#support/fakes/fake-runtime-port.js';
import { aNode } from '#support/builders/node-facts-builder.js';
import { PodloopError } from '#base/errors/errors.js';
import { CallMeter } from './facts/call-meter.js';
import { diagnose } from './diagnose.js';
import { inspectPods } from './inspect-pods.js';
import { known } from './looked.js';
import { type CallLimits, NOT_ASKED } from './runtime-port.js';
import { type InspectionFacts } from './facts/runtime-facts.js';

let clock: FakeClock;
let runtime: FakeRuntimePort;
let meter: CallMeter;
const progress: [number, number][] = [];

beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntimePort(clock);
  meter = new CallMeter(clock);
  progress.length = 0;
});

afterEach(() => meter.stop());

const addPods = (count: number, containers = 1): void => {
  for (let at = 0; at < count; at++) runtime.addPod(`p${at}`, containers);
};

async function inspect({
  timeoutMs = 10_000,
  signal = new AbortController().signal,
} = {}): Promise<InspectionFacts> {
  const { sandboxes, containers } = runtime;
  let isDone = false;
  const looked = inspectPods({
    ...{ runtime, meter, clock, sandboxes, containers, limits: { signal, timeoutMs } },
    onProgress: (asked, pods) => progress.push([asked, pods]),
  }).finally(() => (isDone = true));
  await Promise.all([looked, clock.advanceUntil(() => isDone)]);
  return await looked;
}

/** What the doctor says of these inspections on a node on which all else is well. */
const codesOf = (inspections: InspectionFacts): string[] =>
  diagnose(aNode({ runtime: { inspections: known(inspections) } })).map(({ code }) => code);

describe('inspectPods', () => {
  it('asks once for each sandbox and each container, and says how far it is', async () => {
    addPods(30, 2);
    const facts = await inspect();
    expect(facts).toMatchObject({ asked: 30, pods: 30, calls: 90, hung: [], failing: [] });
    expect(Object.fromEntries(runtime.calls)).toEqual({ PodSandboxStatus: 30, ContainerStatus: 60 });
    expect(progress.at(-1)).toEqual([30, 30]);
    expect(codesOf(facts)).toEqual([]);
  });

  it('knows what calls take that take longer than the time for the first few', async () => {
    addPods(12);
    runtime.behave = () => 6_000;
    const facts = await inspect();
    expect(facts.medianMs).toBeCloseTo(6_000, -2);
    expect(facts.inSeriesMs).toBeCloseTo(24 * 6_000, -3);
    expect(codesOf(facts)).toEqual(['StatusSlow']);
  });

  it('goes by the calls that were made where not all of them are', async () => {
    addPods(110);
    runtime.behave = () => 270;
    let left = 10;
    const ask = runtime.containerStatus.bind(runtime);
    const statusOf = async (id: string, limits: CallLimits): Promise<unknown> =>
      left-- > 0 ? await ask(id, limits) : NOT_ASKED;
    Object.assign(runtime, { sandboxStatus: statusOf, containerStatus: statusOf });
    const facts = await inspect();
    expect(facts.calls).toBe(10);
    expect(facts.medianMs).toBeCloseTo(270, -1);
    expect(facts.inSeriesMs).toBeCloseTo(220 * 270, -3);
    expect(codesOf(facts)).toEqual(['StatusSlow']);
  });

  it('goes by all calls where the first few hang', async () => {
    addPods(10);
    runtime.behave = (_, about) => (['p0', 'p1', 'p2'].includes(about.split('-')[0]!) ? 'hang' : 5);
    const facts = await inspect();
    expect(facts.hung).toHaveLength(6);
    expect(facts.medianMs).toBeCloseTo(5, 0);
    expect(codesOf(facts)).toEqual(['PodHung', 'PodHung', 'PodHung']);
  });

  it('names the one slow container of a pod of many, and does not take it for what all take', async () => {
    addPods(150);
    runtime.addPod('web', 30);
    runtime.behave = (_, about) => (about === 'web-c29' || about === 'p0-sandbox' ? 4_000 : 3);
    const facts = await inspect();
    expect(facts.slowest[0]!.slowestCall.ms).toBeCloseTo(4_000, -2);
    const web = facts.slowest.find(({ pod }) => pod.name === 'web');
    expect(web).toMatchObject({ calls: 31, slowestCall: { method: 'ContainerStatus', container: 'c29' } });
    expect(facts.inSeriesMs).toBeLessThan(12_000);
    expect(codesOf(facts)).toEqual(['PodSlow']);
  });

  it('is held up by no pod that hangs, and asks for no more when its time is over', async () => {
    addPods(700, 1);
    runtime.behave = () => 'hang';
    const startedMs = clock.monotonicMs();
    const facts = await inspect();
    expect(clock.monotonicMs() - startedMs).toBeLessThan(15_000);
    expect(facts.asked).toBeLessThan(700);
    expect(facts.hung.length).toBeGreaterThan(10);
    expect(facts).toMatchObject({ medianMs: 0, inSeriesMs: 0, slowest: [] });
    expect(codesOf(facts)).toEqual(['PodsHung']);
  });

  it('holds nothing against pods that were removed meanwhile, or against a runtime that went', async () => {
    addPods(3);
    const failures = {
      'p0-c0': new PodloopError('CRI_NOT_FOUND', 'not found'),
      'p1-c0': new PodloopError('CRI_UNAVAILABLE', 'gone'),
      'p2-c0': new PodloopError('CRI_UNKNOWN', 'broken'),
    } as Readonly<Record<string, PodloopError>>;
    runtime.behave = (_, about) => failures[about] ?? 0;
    const { failing, hung } = await inspect();
    expect(hung).toEqual([]);
    expect(failing).toMatchObject([{ pod: { name: 'p2' }, container: 'c0', error: 'broken' }]);
  });

  it('ends when it is told to', async () => {
    addPods(3);
    runtime.behave = () => 'hang';
    const told = new AbortController();
    clock.setTimer(500, () => told.abort(new Error('enough')));
    await expect(inspect({ signal: told.signal })).rejects.toThrow('enough');
  });
});
