import { describe, expect, it } from 'vitest';
import { aNode, someInspections } from '#support/builders/node-facts-builder.js';
import { diagnose } from '../diagnose.js';
import { type Finding } from '../finding.js';
import { type IllShim, type OciCall } from '../host/host-facts.js';
import { known, notKnown } from '../looked.js';

const podOf = (name: string) => ({ uid: `uid-${name}`, namespace: 'default', name });
const aCall = (changes: Partial<OciCall> = {}): OciCall => ({
  ...{ pid: 30, command: 'runc', state: 'S', waitsIn: 'do_wait', operation: 'create' },
  ...{ containerId: 'c'.repeat(64), forMs: 25_000, pod: podOf('web'), container: 'app' },
  ...changes,
});
const aShim = (changes: Partial<IllShim> = {}): IllShim => ({
  ...{ pid: 20, command: 'containerd-shim', state: 'T', waitsIn: '', sandboxId: 's'.repeat(64), helpers: [] },
  ...{ illness: 'stopped', pod: podOf('web') },
  ...changes,
});
const diagnoseWork = (
  calls: readonly OciCall[],
  illShims: readonly IllShim[] = [],
  runtime: Parameters<typeof aNode>[0] = {},
): Finding[] =>
  diagnose(
    aNode({
      ...runtime,
      machine: {
        runtimeWork: known({
          ...{
            calls,
            callCount: calls.length,
            ...{ endedCalls: [], endedCallCount: 0 },
            illShims,
            illShimCount: illShims.length,
            asked: 100,
          },
        }),
      },
    }),
  );

describe('calls of runc', () => {
  it.each(['create', 'exec', 'kill', 'delete', 'update'])(
    'that do not end are named with pod, container, process and since when: %s',
    (operation) => {
      const [finding, ...others] = diagnoseWork([aCall({ operation })]);
      expect(others).toEqual([]);
      expect(finding).toMatchObject({
        ...{ code: 'OciRuntimeHangs', severity: 'warning', pod: podOf('web'), container: 'app' },
        ...{ operation: `runc ${operation}`, process: { pid: 30 }, sinceMs: aNode().atMs - 25_000 },
      });
      expect(finding!.remedy).toMatch(/^See what it waits for: .* To end this call .* \(kill -9 30\)\.$/);
    },
  );

  it('that hang for many pods at once are one finding', () => {
    const calls = ['a', 'b', 'c', 'd'].map((name, at) =>
      aCall({ pid: 30 + at, forMs: 70_000 - at, pod: podOf(name) }),
    );
    const [finding, ...others] = diagnoseWork([...calls, aCall({ pid: 40, operation: 'kill' })]);
    expect(others).toMatchObject([{ code: 'OciRuntimeHangs', operation: 'runc kill' }]);
    expect(finding).toMatchObject({
      ...{ code: 'OciRuntimeHangs', severity: 'critical', operation: 'runc create' },
      ...{ pods: calls.map(({ pod }) => pod), sinceMs: aNode().atMs - 70_000 },
    });
    expect(finding!.message).toMatch(/^4 calls of runc create have run for up to 1m10s \(default\/a, /);
    expect(finding!.remedy).toContain('fails the start of this container alone');
  });

  it.each(['checkpoint', 'restore'])(
    'may take minutes for a %s, which copies a container’s memory',
    (operation) => {
      expect(diagnoseWork([aCall({ operation, forMs: 500_000 })])).toEqual([]);
      expect(diagnoseWork([aCall({ operation, forMs: 601_000 })])).toMatchObject([
        { code: 'OciRuntimeHangs' },
      ]);
      // Nor is its shim to blame, which does not answer meanwhile.
      const silent = aShim({ illness: 'silent', state: 'S', silentForMs: 10_000 });
      expect(diagnoseWork([aCall({ operation, forMs: 90_000 })], [silent])).toEqual([]);
    },
  );

  it('into a container that is frozen are not why its shim does not answer, but a checkpoint is', () => {
    const cgroup = '/sys/fs/cgroup/freezer/kubepods/pod1/app';
    const silent = aShim({ illness: 'silent', state: 'S', silentForMs: 10_000, cgroup });
    const [finding, ...others] = diagnoseWork([aCall({ operation: 'exec', forMs: 2_000 })], [silent]);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'ShimHangs', pod: podOf('web') });
    expect(finding!.evidence.join()).toContain(`frozen with its cgroup ${cgroup}`);
    expect(finding!.remedy).toMatch(
      /^Thaw it, which interrupts nothing: echo THAWED > .*freezer\.state\. Whoever/,
    );
    expect(diagnoseWork([aCall({ operation: 'checkpoint', forMs: 20_000 })], [silent])).toEqual([]);
  });

  it('that are frozen with their container go on once that is thawed', () => {
    const frozenCgroup = '/sys/fs/cgroup/kubepods/pod1/app';
    const [finding, ...others] = diagnoseWork([aCall({ operation: 'exec', frozenCgroup })]);
    expect(others).toEqual([]);
    expect(finding!.evidence.at(-1)).toContain(`${frozenCgroup} is frozen`);
    expect(finding!.remedy).toMatch(
      /^Thaw it, which interrupts nothing: echo 0 > \/sys\/fs\/cgroup\/kubepods\/pod1\/app\/cgroup\.freeze\./,
    );
  });

  it('that are on their way are nobody’s fault', () => {
    for (const forMs of [0, 30, 1_500, 9_900]) expect(diagnoseWork([aCall({ forMs })])).toEqual([]);
  });

  it('that are slow for many pods are an illness of runc', () => {
    const calls = ['a', 'b', 'c', 'd'].map((name, at) => aCall({ pid: at, forMs: 4_000, pod: podOf(name) }));
    const findings = diagnoseWork(calls);
    expect(findings).toMatchObject([{ code: 'OciRuntimeSlow', severity: 'warning' }]);
    expect(findings[0]!.pod).toBeUndefined();
    expect(diagnoseWork(calls.slice(0, 2))).toEqual([]);
  });

  const diagnoseEnded = (endedCalls: readonly OciCall[], calls: readonly OciCall[] = []): Finding[] => {
    const rest = { illShims: [], illShimCount: 0, asked: 100 };
    const work = { calls, callCount: calls.length, endedCalls, endedCallCount: endedCalls.length, ...rest };
    return diagnose(aNode({ machine: { runtimeWork: known(work) } }));
  };
  const callsOf = (names: string, forMs: number): OciCall[] =>
    names.split(' ').map((name, at) => aCall({ pid: at, forMs, pod: podOf(name) }));

  it.each([3_000, 4_000, 9_000, 15_000, 40_000])(
    'that were slow for many pods and ended meanwhile are one, however long they took: %d ms',
    (forMs) => {
      expect(diagnoseEnded(callsOf('a b c d', forMs))).toMatchObject([{ code: 'OciRuntimeSlow' }]);
      expect(diagnoseEnded(callsOf('a b c', forMs), callsOf('d', forMs))).toMatchObject([
        { code: 'OciRuntimeSlow' },
      ]);
      expect(diagnoseEnded(callsOf('a b', forMs))).toEqual([]);
      expect(diagnoseEnded(callsOf('a a a a', forMs))).toEqual([]);
    },
  );

  const QUIET = { someAvg10: 0, someAvg60: 0, fullAvg10: 0, fullAvg60: 0 };
  it.each([
    ['cpu', { someAvg10: 97, someAvg60: 30 }],
    ['cpu', { someAvg10: 20, someNow: 65, fullNow: 0 }],
    ['io', { fullAvg10: 3, someNow: 100, fullNow: 25 }],
    ['io', { fullAvg10: 40, fullAvg60: 5 }],
    ['memory', { fullAvg10: 15, fullAvg60: 2 }],
  ])('that are slow while the machine is busy for a moment are not runc’s fault: %s', (name, busy) => {
    const pressure = { cpu: QUIET, io: QUIET, memory: QUIET, [name]: { ...QUIET, ...busy } };
    const endedCalls = callsOf('a b c d', 5_000);
    const work = { calls: [], callCount: 0, endedCalls, endedCallCount: 4, illShims: [], illShimCount: 0 };
    const machine = { pressure: known(pressure), runtimeWork: known({ ...work, asked: 9 }) };
    const findings = diagnose(aNode({ machine }));
    const slow = findings.flatMap((each) => [each, ...(each.follows ?? [])]);
    expect(slow.find(({ code }) => code === 'OciRuntimeSlow')).toMatchObject({
      severity: 'info',
      evidence: expect.arrayContaining([expect.stringContaining(`/proc/pressure/${name}`)]) as unknown,
    });
  });

  it.each([
    [16, 'info'],
    [15, 'warning'],
  ])(
    'that are slow at a load of %d on 8 cores are %s where pressure is not measured',
    (average1, severity) => {
      const endedCalls = callsOf('a b c d', 5_000);
      const work = { calls: [], callCount: 0, endedCalls, endedCallCount: 4, illShims: [], illShimCount: 0 };
      const load = known({ cores: 8, average1, average5: 1 });
      const machine = { pressure: notKnown('no PSI'), load, runtimeWork: known({ ...work, asked: 9 }) };
      expect(diagnose(aNode({ machine }))).toMatchObject([{ code: 'OciRuntimeSlow', severity }]);
    },
  );

  it('that were slow explain a shim that did not answer meanwhile', () => {
    const silent = (name: string): IllShim =>
      aShim({ illness: 'silent', silentForMs: 10_000, pod: podOf(name) });
    const codes = (name: string, slow = 'a b c d'): string[] => {
      const endedCalls = callsOf(slow, 12_000);
      const work = { calls: [], callCount: 0, endedCalls, endedCallCount: endedCalls.length, asked: 9 };
      const ill = { illShims: [silent(name)], illShimCount: 1 };
      return diagnose(aNode({ machine: { runtimeWork: known({ ...work, ...ill }) } })).map(
        ({ code }) => code,
      );
    };
    expect(codes('b')).toEqual(['OciRuntimeSlow']);
    expect(codes('other')).toContain('ShimHangs');
    // Of one or two pods that is no reason.
    expect(codes('b', 'b')).toEqual(['ShimHangs']);
    expect(codes('b', 'a b')).toEqual(['ShimHangs']);
  });

  it('that were fast are nobody’s fault, however many there were', () => {
    expect(diagnoseEnded(callsOf('a b c d e f g h i j', 2_900))).toEqual([]);
  });

  it('that hang are named beside slow ones', () => {
    const hung = aCall({ pid: 99, forMs: 80_000, pod: podOf('web') });
    expect(diagnoseEnded(callsOf('a b c d', 4_000), [hung])).toMatchObject([
      { code: 'OciRuntimeHangs', pod: podOf('web') },
      { code: 'OciRuntimeSlow' },
    ]);
    // Calls that have not ended yet do not show that a later one will.
    expect(diagnoseEnded([], [...callsOf('a b c d', 4_000), { ...hung, forMs: 25_000 }])).toMatchObject([
      { code: 'OciRuntimeHangs', pod: podOf('web') },
      { code: 'OciRuntimeSlow' },
    ]);
  });

  it('explain a shim that does not answer meanwhile', () => {
    const silent = aShim({ illness: 'silent', state: 'S', silentForMs: 5_000 });
    expect(diagnoseWork([aCall()], [silent])).toMatchObject([{ code: 'OciRuntimeHangs' }]);
    expect(diagnoseWork([aCall({ forMs: 4_000 })], [silent])).toEqual([]);
    expect(diagnoseWork([aCall({ pod: podOf('db') })], [silent])).toMatchObject([
      { code: 'ShimHangs', pod: podOf('web') },
      { code: 'OciRuntimeHangs', pod: podOf('db') },
    ]);
  });
});

describe('shims', () => {
  it.each<[IllShim['illness'], string, RegExp]>([
    ['stopped', 'ShimStopped', /kill -CONT 20, which interrupts nothing/],
    ['frozen', 'ShimStopped', /Thaw it, which interrupts nothing: echo 0 > \/ice/],
    ['blocked', 'ShimHangs', /\/proc\/20\/stack/],
    ['silent', 'ShimHangs', /kill -USR1 20 .* ends the containers of this pod/],
  ])('that are %s are named with their pod and the way out', (illness, code, remedy) => {
    const [finding, ...others] = diagnoseWork(
      [],
      [aShim({ illness, ...(illness === 'frozen' && { cgroup: '/ice' }) })],
    );
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code, severity: 'critical', pod: podOf('web'), process: { pid: 20 } });
    expect(finding!.remedy).toMatch(remedy);
  });

  it('that a debugger holds are not to be continued by a signal', () => {
    const [finding] = diagnoseWork([], [aShim({ state: 't', tracer: { pid: 99, command: 'gdb' } })]);
    expect(finding!.message).toContain('(pid 20) is held by a debugger');
    expect(finding!.evidence[0]).toContain('state t, held by pid 99 gdb');
    expect(finding!.remedy).toMatch(/^Have the debugger let it go on \(pid 99 gdb\)/);
  });

  it('that wait for what a call left behind are helped by its end', () => {
    const helpers = [{ pid: 33, command: 'sleep', state: 'S', waitsIn: 'hrtimer_nanosleep', forMs: 20_000 }];
    const [finding] = diagnoseWork([], [aShim({ illness: 'silent', state: 'S', container: 'app', helpers })]);
    expect(finding).toMatchObject({ code: 'ShimHangs', pod: podOf('web'), container: 'app' });
    expect(finding!.evidence).toContainEqual(
      expect.stringContaining('below it pid 33 sleep, in no container'),
    );
    expect(finding!.remedy).toMatch(/fails this call alone, and the runtime tries again: kill -9 33\./);
  });

  it.each<[IllShim['illness'], string, RegExp]>([
    ['stopped', 'ShimStopped', /kill -CONT 20 21 22 23 and the others, which interrupts nothing/],
    ['frozen', 'ShimStopped', /^Thaw it, which interrupts nothing: echo 0 > \/ice/],
    ['blocked', 'ShimHangs', /\/proc\/20\/stack/],
    ['silent', 'ShimHangs', /ends the containers of its pod/],
  ])('that are many and %s alike are one finding with all their pods', (illness, code, remedy) => {
    const shims = ['a', 'b', 'c', 'd'].map((name, at) =>
      aShim({ pid: 20 + at, illness, pod: podOf(name), ...(illness === 'frozen' && { cgroup: '/ice' }) }),
    );
    const rest = { calls: [], callCount: 0, endedCalls: [], endedCallCount: 0, asked: 100 };
    const work = { ...rest, illShims: shims, illShimCount: 90 };
    const [finding, ...others] = diagnose(aNode({ machine: { runtimeWork: known(work) } }));
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code, pods: shims.map(({ pod }) => pod), process: { pid: 20 } });
    expect(finding!.message).toMatch(
      /^90 shims .*default\/a, default\/b, default\/c, default\/d and 86 more/,
    );
    expect(finding!.remedy).toMatch(remedy);
  });

  it('say since when they have stood still, where the kernel does', () => {
    const [one] = diagnoseWork([], [aShim({ stillForMs: 200_000 })]);
    expect(one).toMatchObject({ code: 'ShimStopped', sinceMs: aNode().atMs - 200_000 });
    expect(one!.evidence[0]).toContain('state T, has not run for 3m20s');
    const many = ['a', 'b', 'c', 'd'].map((name, at) =>
      aShim({ pid: 20 + at, pod: podOf(name), ...(at > 0 && { stillForMs: at * 60_000 }) }),
    );
    expect(diagnoseWork([], many)).toMatchObject([{ sinceMs: aNode().atMs - 180_000 }]);
    expect(diagnoseWork([], [aShim()])[0]).not.toHaveProperty('sinceMs');
  });

  it('are the cause of calls below them, of their pod’s calls and of lists that hang', () => {
    const hung = {
      ...{ method: 'PodSandboxStatus', pod: podOf('web'), ms: 10_000, outcome: 'hung' as const },
      ...{ error: 'deadline', code: 'CRI_DEADLINE_EXCEEDED' },
    };
    const other = { ...hung, pod: podOf('db') };
    const list = {
      method: 'ListContainers',
      count: 1,
      hung: 1,
      failed: 0,
      p50Ms: 0,
      p99Ms: 0,
      maxMs: 10_000,
    };
    const findings = diagnoseWork([aCall()], [aShim()], {
      runtime: { inspections: known(someInspections({ hung: [hung, other] })), operations: [list] },
    });
    expect(findings.map(({ code, pod }) => [code, pod?.name])).toEqual([
      ['ShimStopped', 'web'],
      ['PodHung', 'db'],
    ]);
    expect(findings[0]!.follows?.map(({ code }) => code)).toEqual(['ListHangs', 'PodHung']);
  });
});
