import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntimePort } from '#support/fakes/fake-runtime-port.js';
import { aNode } from '#support/builders/node-facts-builder.js';
import { PodloopError } from '#base/errors/errors.js';
import { diagnose } from './diagnose.js';
import {
  type EventReading,
  examineRuntime,
  type RuntimeExamination,
  type RuntimeProgress,
} from './examine-runtime.js';

let clock: FakeClock;
let runtime: FakeRuntimePort;
let progress: RuntimeProgress[];

beforeEach(() => {
  clock = new FakeClock({ settleRounds: 2 });
  runtime = new FakeRuntimePort(clock);
  progress = [];
  for (let at = 0; at < 5; at++) runtime.addPod(`p${at}`, 2);
});

async function examine({
  events = 'auto',
  signal = new AbortController().signal,
}: { events?: EventReading; signal?: AbortSignal } = {}): Promise<RuntimeExamination> {
  let isDone = false;
  const examining = examineRuntime({
    ...{ runtime, clock, signal, events, timeoutMs: 10_000, watchMs: 3_000 },
    onProgress: (how) => progress.push(how),
  }).finally(() => (isDone = true));
  await Promise.all([examining, clock.advanceUntil(() => isDone)]);
  return await examining;
}

/** What the doctor says of it on a machine on which all is well: the codes, and the first finding's call. */
function judge({ facts }: RuntimeExamination): { codes: string[]; call: string | undefined } {
  const findings = diagnose(aNode({ runtime: facts }));
  return { codes: findings.map(({ code }) => code), call: findings[0]?.call };
}

describe('examineRuntime', () => {
  it('finds nothing on a runtime that is well, and leaves nothing running', async () => {
    const examination = await examine();
    expect(judge(examination)).toEqual({ codes: [], call: undefined });
    const { facts, firstLists, lastLists, imageFilesystems } = examination;
    expect(facts).toMatchObject({ name: 'podloop-embedded', connection: { connected: true, failures: 0 } });
    expect(facts.inspections).toMatchObject({ known: true, value: { asked: 5, calls: 15 } });
    expect(facts.population).toMatchObject({ known: true, value: { pods: 5, containers: 10 } });
    expect(facts.events).toMatchObject({ known: true, value: { changed: 0 } });
    expect(facts.lists).toMatchObject([
      { method: 'ListPodSandbox', calls: 3, items: 5 },
      { method: 'ListContainers', calls: 3, items: 10 },
    ]);
    expect(firstLists?.sandboxes).toHaveLength(5);
    expect(lastLists?.containers).toHaveLength(10);
    expect(imageFilesystems).toEqual({ known: true, value: [{ mountpoint: '/var/lib/fake' }] });
    expect([...new Set(progress.map(({ step }) => step))]).toEqual([
      ...['connecting', 'listing', 'inspecting', 'watching'],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each(['ListContainers', 'ListPodSandbox'])(
    'names whose part of a list is large that is refused: %s',
    async (method) => {
      runtime.addPod('large', 7);
      const error = new PodloopError('CRI_RESOURCE_EXHAUSTED', 'trying to send message larger than max');
      runtime.behave = (called, about) => (called === method && about === '' ? error : 0);
      const { facts } = await examine();
      const finding = diagnose(aNode({ runtime: facts })).find(({ code }) => code === 'ListTooLarge');
      expect(finding).toMatchObject({ severity: 'critical', call: method });
      expect(finding!.evidence[0]).toContain('larger than max');
      const list = facts.lists.find((each) => each.method === method);
      if (method === 'ListContainers') {
        expect(finding!.evidence[1]).toBe('pod default/large: 700B for 7 items');
        expect(list!.largest).toHaveLength(5);
      }
    },
  );

  it.each<[string, (method: string, about: string) => 0 | 'hang', string, string | undefined]>([
    ['every call', (method) => (method === 'connect' ? 0 : 'hang'), 'RuntimeHung', 'Version'],
    ['a list', (method) => (method === 'ListContainers' ? 'hang' : 0), 'ListHangs', 'ListContainers'],
    ['Status', (method) => (method === 'Status' ? 'hang' : 0), 'CallHangs', 'Status'],
    ['the image store', (method) => (method === 'ListImages' ? 'hang' : 0), 'CallHangs', 'ListImages'],
    ['one pod', (_, about) => (about === 'p3-c1' ? 'hang' : 0), 'PodHung', 'ContainerStatus'],
  ])('names the call when what hangs is %s', async (_, behave, code, call) => {
    runtime.behave = behave;
    expect(judge(await examine())).toEqual({ codes: [code], call });
    expect(clock.pendingTimers).toBe(0);
  });

  it('says while it waits what has not been answered', async () => {
    runtime.behave = (_, about) => (about === 'p3-c1' ? 'hang' : 0);
    await examine();
    const hung = progress.flatMap(({ underWay }) => underWay).filter(({ method }) => method !== 'Version');
    expect(hung.at(-1)).toMatchObject({ method: 'ContainerStatus', pod: { name: 'p3' }, container: 'c1' });
    expect(Math.max(...hung.map(({ forMs }) => forMs))).toBeGreaterThan(8_000);
  });

  it('knows nothing of a runtime that it does not reach', async () => {
    runtime.behave = () => new PodloopError('ENDPOINT_NOT_FOUND', 'there is no socket');
    const examination = await examine();
    expect(judge(examination).codes).toEqual(['RuntimeSocketMissing']);
    expect(examination).toMatchObject({ firstLists: undefined, lastLists: undefined });
    expect(examination.facts.inspections).toEqual({ known: false, why: 'the runtime was not reached' });
  });

  it('knows whose share of a large list is the largest, where that was measured', async () => {
    const sizeOf = (id: string): number => (id.startsWith('p3') ? 9_000 : 10);
    runtime.sandboxes = runtime.sandboxes.map((each) => ({ ...each, bytes: sizeOf(each.id) }));
    runtime.containers = runtime.containers.map((each) => ({ ...each, bytes: sizeOf(each.id) }));
    const [sandboxes, containers] = (await examine()).facts.lists;
    expect(sandboxes!.largest?.[0]).toMatchObject({ pod: { name: 'p3' }, bytes: 9_000, items: 1 });
    expect(containers!.largest?.[0]).toMatchObject({ pod: { name: 'p3' }, bytes: 18_000, items: 2 });
    expect(containers!.largest).toHaveLength(5);
  });

  it('tells of changes that no event announced', async () => {
    clock.setTimer(1_000, () => {
      runtime.tell('p0-c0');
      runtime.containers = runtime.containers.filter(({ id }) => id !== 'p0-c0' && id !== 'p1-c0');
    });
    expect(judge(await examine())).toEqual({ codes: ['EventsLost'], call: 'GetContainerEvents' });
  });

  it('opens no stream that takes events from others, whatever it is told', async () => {
    const opened: string[] = [];
    const readEvents = runtime.readEvents.bind(runtime);
    runtime.readEvents = (...args) => {
      opened.push(runtime.name);
      return readEvents(...args);
    };
    Object.assign(runtime, { name: 'containerd', runtimeVersion: '1.7.24' });
    expect((await examine({ events: 'always' })).facts.events).toMatchObject({ known: false });
    Object.assign(runtime, { name: 'cri-o', runtimeVersion: '1.30.0' });
    expect((await examine({ events: 'auto' })).facts.events).toMatchObject({ known: false });
    expect(opened).toEqual([]);
    expect((await examine({ events: 'always' })).facts.events).toMatchObject({ known: true });
    expect(opened).toEqual(['cri-o']);
  });

  it('ends when it is told to, with its reason', async () => {
    const told = new AbortController();
    clock.setTimer(700, () => told.abort(new Error('enough')));
    await expect(examine({ signal: told.signal })).rejects.toThrow('enough');
    await clock.settle();
    expect(clock.pendingTimers).toBe(0);
  });
});
