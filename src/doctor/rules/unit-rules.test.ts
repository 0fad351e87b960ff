import { describe, expect, it } from 'vitest';
import { aNode, type NodeFactsChanges } from '#support/builders/node-facts-builder.js';
import { diagnose } from '../diagnose.js';
import { type UnitFacts } from '../host/host-facts.js';
import { known, notKnown } from '../looked.js';

const UNIT: UnitFacts = {
  ...{ name: 'kubelet.service', activeState: 'active', subState: 'running', result: 'success' },
  ...{ restarts: 0, exitStatus: 0, forMs: 3_600_000 },
};
const LOOP = {
  ...{ activeState: 'activating', subState: 'auto-restart', result: 'exit-code', exitStatus: 1 },
  ...{ restarts: 17, forMs: 3_000 },
};
const withUnits = (...units: readonly Partial<UnitFacts>[]): NodeFactsChanges => ({
  machine: { systemd: known({ units: units.map((unit) => ({ ...UNIT, ...unit })) }) },
});
const find = (changes: NodeFactsChanges) =>
  diagnose(aNode(changes)).filter(({ code }) => code === 'UnitFails');

describe('a unit', () => {
  it.each([
    ['runs', {}],
    ['has been stopped by somebody', { activeState: 'inactive', subState: 'dead' }],
    ['was restarted often, and has run for an hour since', { restarts: 40 }],
    ['was restarted once, just now', { restarts: 1, forMs: 2_000 }],
    ['is just being started', { activeState: 'activating', subState: 'start', forMs: 100 }],
  ])('is no finding when it %s', (_what, unit) => {
    expect(find(withUnits(unit))).toEqual([]);
  });

  it('is started again and again', () => {
    const [finding] = find(withUnits(LOOP));
    expect(finding).toMatchObject({
      ...{ severity: 'critical', unit: 'kubelet.service', sinceMs: aNode().atMs - 3_000 },
      message:
        'kubelet.service does not stay up: systemd has started it again 17 times, it ended 3s ago (exit status 1)',
    });
    expect(finding!.remedy).toContain('journalctl -u kubelet');
  });

  it.each([
    ['exit-code', 3, 'exit status 3', 'reset-failed'],
    ['signal', 11, 'killed by signal 11', 'reset-failed'],
    ['oom-kill', 9, 'killed for want of memory', 'reset-failed'],
    ['start-limit-hit', 1, 'systemd has given up', 'reset-failed kubelet && systemctl start kubelet'],
    ['timeout', 0, 'in its time', 'reset-failed'],
    ['watchdog', 6, 'watchdog', 'reset-failed'],
    ['resources', 0, '(resources)', 'reset-failed'],
  ])('has failed with %s %d', (result, exitStatus, words, remedy) => {
    const [finding] = find(withUnits({ activeState: 'failed', subState: 'failed', result, exitStatus }));
    expect(finding!.message).toContain(words);
    expect(finding!.remedy).toContain(remedy);
  });

  it('that was restarted often and has run for a minute is a warning', () => {
    expect(find(withUnits({ restarts: 5, forMs: 60_000 }))).toMatchObject([{ severity: 'warning' }]);
  });

  it('of a runtime that is not the one of this node is nobody’s concern', () => {
    const failed = { name: 'crio.service', activeState: 'failed', subState: 'failed' };
    expect(find(withUnits(failed))).toEqual([]);
  });

  it('of podloop is nobody’s concern where a kubelet has the node, and its observer is a warning', () => {
    const failed = { name: 'podloop.service', activeState: 'failed', subState: 'failed' };
    const daemons = known({ kubelet: { pid: 8, command: 'kubelet', state: 'S', waitsIn: '', forMs: 9_000 } });
    expect(find({ machine: { ...withUnits(failed).machine, daemons } })).toEqual([]);
    expect(find(withUnits(failed))).toMatchObject([{ severity: 'critical' }]);
    expect(find(withUnits({ ...failed, name: 'podloop-observe.service' }))).toMatchObject([
      { severity: 'warning' },
    ]);
  });

  it('explains why the runtime does not answer', () => {
    const connection = {
      ...{ connected: false, attempts: 3, failures: 3, watchedMs: 3_000 },
      ...{ code: 'ENDPOINT_NOT_FOUND', error: 'no socket' },
    };
    const { machine } = withUnits({ ...LOOP, name: 'containerd.service' });
    const found = diagnose(aNode({ machine: machine!, runtime: { connection } }));
    expect(found).toMatchObject([{ code: 'UnitFails', follows: [{ code: 'RuntimeSocketMissing' }] }]);
  });

  it('explains why no kubelet runs', () => {
    const daemons = known({ kubeletConfigured: '/etc/kubernetes/kubelet.conf' });
    const found = diagnose(aNode({ machine: { ...withUnits(LOOP).machine, daemons } }));
    expect(found).toMatchObject([{ code: 'UnitFails', follows: [{ code: 'KubeletNotRunning' }] }]);
  });
});

describe('systemd', () => {
  it('that does not answer is named, with the runc that waits for it below', () => {
    const call = {
      ...{ pid: 30, command: 'runc', state: 'S', waitsIn: 'unix_stream_read', operation: 'create' },
      ...{ containerId: 'c'.repeat(64), forMs: 90_000, container: 'app' },
      pod: { uid: 'uid-web', namespace: 'default', name: 'web' },
    };
    const runtimeWork = known({
      ...{ calls: [call], callCount: 1, endedCalls: [], endedCallCount: 0 },
      ...{ illShims: [], illShimCount: 0, asked: 1 },
    });
    const systemd = known({ units: [], silentForMs: 5_000 });
    const found = diagnose(aNode({ machine: { systemd, runtimeWork } }));
    expect(found).toMatchObject([
      { code: 'SystemdHangs', severity: 'critical', follows: [{ code: 'OciRuntimeHangs' }] },
    ]);
  });

  it.each([
    [
      { pid: 1, command: 'systemd', state: 'S', waitsIn: '', frozenCgroup: '/sys/fs/cgroup/init.scope' },
      'systemd (pid 1) is frozen with its cgroup',
      /echo 0 > \/sys\/fs\/cgroup\/init\.scope\/cgroup\.freeze/,
    ],
    [
      { pid: 61, command: 'dbus-daemon', state: 'T', waitsIn: 'do_signal_stop' },
      'dbus-daemon (pid 61) is stopped by a signal',
      /kill -CONT 61/,
    ],
  ])('whose process is stopped is one finding that names it: %o', (stopped, says, remedy) => {
    const daemons = known({ stoppedInit: [stopped] });
    const systemd = known({ units: [], silentForMs: 5_000 });
    const found = diagnose(aNode({ machine: { systemd, daemons } }));
    expect(found).toMatchObject([
      {
        ...{ code: 'SystemdHangs', process: { pid: stopped.pid } },
        ...{ message: expect.stringContaining(says) as string, follows: [{ code: 'SystemdHangs' }] },
      },
    ]);
    expect(found[0]!.remedy).toMatch(remedy);
  });

  it('that cannot be asked is no finding', () => {
    expect(diagnose(aNode({ machine: { systemd: notKnown('in a container') } }))).toEqual([]);
  });
});
