import { describe, expect, it } from 'vitest';
import { aNode } from '#support/builders/node-facts-builder.js';
import { diagnose, exitCodeOf } from '../diagnose.js';
import { type KubeletMetrics, type WaitingPod } from '../facts/kubelet-facts.js';
import { type Finding } from '../finding.js';
import { known, notKnown } from '../looked.js';

const aWaiting = (name: string, changes: Partial<WaitingPod> = {}): WaitingPod => ({
  ...{
    pod: { uid: `uid-${name}`, namespace: 'default', name },
    container: 'app',
    reason: 'ContainerCreating',
  },
  ...{ message: '', forMs: 40_000, hasSandbox: false, ...changes },
});
const find = (
  waiting: readonly WaitingPod[] | undefined,
  changes: Partial<KubeletMetrics> = {},
): Finding[] => {
  const metrics: KubeletMetrics = {
    ...{
      url: 'u',
      isEvented: false,
      relists: 1,
      isRecent: true,
      eventsDiscarded: 0,
      eventsDiscardedLately: 0,
    },
    ...{
      sandboxErrors: 9,
      sandboxErrorsLately: 2,
      podsWanted: 5,
      podsRunning: 1,
      operations: [],
      ...changes,
    },
  };
  const health = { url: 'h', healthy: true, words: 'ok' };
  const looked = waiting === undefined ? notKnown('it is forbidden') : known(waiting);
  return diagnose(
    aNode({ rest: { kubelet: { health: known(health), metrics: known(metrics), waiting: looked } } }),
  );
};

describe('pods that do not start', () => {
  it('for want of a sandbox are one illness of the node, with all their names', () => {
    const findings = find(['a', 'b', 'c', 'd'].map((name) => aWaiting(name)));
    expect(findings).toMatchObject([
      { code: 'SandboxesFail', severity: 'warning', sinceMs: aNode().atMs - 40_000 },
    ]);
    expect(findings[0]!.message).toContain('default/a, default/b, default/c, default/d');
    expect(find([aWaiting('a')], { podsRunning: 0 })).toMatchObject([{ severity: 'critical' }]);
  });

  it('are counted where the kubelet’s pods may not be read, while sandboxes fail', () => {
    const [finding, ...others] = find(undefined, { url: 'http://h/metrics' });
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'SandboxesFail', severity: 'warning' });
    expect(finding!.message).toMatch(/^4 of 5 pods/);
    expect(finding!.evidence.join()).toMatch(/which do not is in http:\/\/h\/pods.*nodes\/proxy/);
    expect(find(undefined, { podsRunning: 0 })).toMatchObject([{ severity: 'critical' }]);
    for (const well of [{ podsRunning: 5 }, { sandboxErrorsLately: 0 }, { sandboxErrors: 2 }])
      expect(find(undefined, well)).toEqual([]);
  });

  it('are nobody’s fault while they are young, or while nothing has failed', () => {
    expect(find([aWaiting('a', { forMs: 14_000 })])).toEqual([]);
    expect(find([aWaiting('a')], { sandboxErrors: 0, sandboxErrorsLately: 0 })).toEqual([]);
    // Many are made at once, and a few sandboxes failed long ago.
    const made = ['a', 'b', 'c', 'd', 'e'].map((name) => aWaiting(name, { forMs: 32_000 }));
    expect(find(made, { sandboxErrors: 9, sandboxErrorsLately: 0 })).toEqual([]);
    expect(find(made, { sandboxErrors: 10, sandboxErrorsLately: 0 })).toMatchObject([
      { code: 'SandboxesFail' },
    ]);
    expect(find([aWaiting('a', { forMs: 20_000 })], { sandboxErrorsLately: 0 })).toEqual([]);
    expect(find([aWaiting('a', { hasSandbox: true })])).toEqual([]);
  });

  it.each(['ImagePullBackOff', 'ErrImagePull', 'CrashLoopBackOff', 'CreateContainerConfigError'])(
    'for a reason of their own leave the node healthy: %s',
    (reason) => {
      const findings = find([aWaiting('a', { reason, hasSandbox: true }), aWaiting('b', { reason })]);
      expect(findings).toMatchObject([{ code: 'PodsWait', severity: 'info' }]);
      expect(findings[0]!.message).toContain(`default/a (${reason}), default/b (${reason})`);
      expect(exitCodeOf({ facts: aNode(), findings })).toBe(0);
    },
  );

  it('wait for a volume, most likely, where the kubelet has some to mount, whatever sandboxes failed long ago', () => {
    const long = { forMs: 70_000 };
    const missing = { volumesMissing: 2, sandboxErrorsLately: 0 };
    const [finding, ...others] = find([aWaiting('a', long), aWaiting('b')], missing);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'PodsWait', severity: 'info', pods: [{ name: 'a' }] });
    expect(finding!.evidence).toEqual([
      expect.stringMatching(/most likely a volume is not there \(the kubelet has yet to mount 2 volumes\)/),
    ]);
    // Those that fail right now are the node's illness.
    expect(find([aWaiting('a', long)], { volumesMissing: 2 })).toMatchObject([{ code: 'SandboxesFail' }]);
    expect(find([aWaiting('a', long)], { ...missing, volumesMissing: 0 })).toMatchObject([
      { code: 'SandboxesFail' },
    ]);
  });

  it('with their sandbox there for a minute wait for an image, most likely, which leaves the node healthy', () => {
    const [finding, ...others] = find([
      aWaiting('a', { hasSandbox: true, forMs: 70_000 }),
      aWaiting('b', { hasSandbox: true, forMs: 59_000 }),
      aWaiting('c', { hasSandbox: true, forMs: 400_000, message: 'Pulling 45% (120/266 MB)' }),
    ]);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'PodsWait', severity: 'info' });
    expect(finding!.pods!.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(finding!.evidence).toEqual([
      expect.stringMatching(
        /^default\/a, container app: ContainerCreating for .*most likely an image is being pulled$/,
      ),
      expect.stringMatching(
        /^default\/c, container app: ContainerCreating for .*: Pulling 45% \(120\/266 MB\)$/,
      ),
    ]);
  });

  it('for want of a network are named with it, however long they wait', () => {
    const network = { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: '' };
    const waiting = [aWaiting('a', { forMs: 400_000 }), aWaiting('b', { forMs: 2_000 })];
    const kubelet = { health: notKnown('h'), metrics: notKnown('m'), waiting: known(waiting) };
    const [finding, ...others] = diagnose(
      aNode({ runtime: { conditions: known([network]) }, rest: { kubelet } }),
    );
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'NetworkNotReady', follows: [{ code: 'PodsWait' }] });
    expect(finding!.pods!.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(finding!.evidence).toContain('without a sandbox: default/a, default/b');
  });
});
