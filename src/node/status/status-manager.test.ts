import { beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { FakeClock } from '#testing/fake-clock.js';
import {
  somePodActionInputs,
  aSidecar,
  type PodActionsBlueprint,
} from '#support/builders/pod-action-inputs.js';
import { computePodStatus } from './compute-pod-status.js';
import { podStatusChanged } from './status-changes.js';
import { StatusManager } from './status-manager.js';

const exited = { state: 'exited' } as const;
let clock: FakeClock;
let manager: StatusManager;

beforeEach(() => {
  clock = new FakeClock();
  manager = new StatusManager({ clock, changeCapacity: 2 });
});

const { pod } = somePodActionInputs();
const podNamed = (name: string): NodePod => ({
  ...pod,
  metadata: { ...pod.metadata, name, uid: `uid-${name}` },
});

function statusOf(blueprint: PodActionsBlueprint, ready = true): V1PodStatus {
  const { pod: desired, observed } = somePodActionInputs(blueprint);
  return computePodStatus({
    ...{ pod: desired, observed, previous: undefined, nowMs: clock.now() },
    node: { hostIps: [], runtimeName: 'containerd' },
    probes: { readiness: () => ready, started: () => ready },
  });
}

const probed = { spec: { containers: [{ name: 'main', image: 'i', readinessProbe: {}, startupProbe: {} }] } };
const set = (status: V1PodStatus, of = pod): string => manager.setPodStatus(of, status, clock.stamp());
const shown = (): V1PodStatus => manager.find('uid-web')!.status;

describe('the status manager', () => {
  it('holds the latest status of each pod, and counts its versions', () => {
    expect(manager.find('uid-web')).toBeUndefined();
    expect(set(statusOf({}))).toBe('changed');
    expect(set(statusOf({}))).toBe('same');
    expect(set(statusOf({ containers: { main: {} } }))).toBe('changed');
    expect(manager.find('uid-web')).toMatchObject({
      pod: { uid: 'uid-web', namespace: 'default', name: 'web' },
      version: 2,
      isFinished: false,
      status: { phase: 'Running' },
    });
    set(statusOf({}), podNamed('other'));
    expect(manager.list().map(({ pod: { name } }) => name)).toEqual(['web', 'other']);
  });

  it('never overwrites newer by older', () => {
    const before = clock.stamp();
    set(statusOf({ containers: { main: {} } }));
    expect(manager.setPodStatus(pod, statusOf({}), before)).toBe('older');
    expect(shown().phase).toBe('Running');
  });

  it('lets no terminal phase become another', () => {
    const spec = { restartPolicy: 'Never' } as const;
    set(statusOf({ spec, containers: { main: exited } }));
    expect(set(statusOf({ containers: { main: {} } }))).toBe('finished');
    expect(shown().phase).toBe('Succeeded');
  });

  it('keeps a status until housekeeping no longer knows its pod', () => {
    for (const name of ['a', 'b', 'c']) set(statusOf({}), podNamed(name));
    manager.removeOrphanedStatuses(new Set(['uid-b']));
    expect(manager.list().map(({ pod: { name } }) => name)).toEqual(['b']);
  });
});

describe('a pod that ended', () => {
  it('has a last status, which nothing changes any more', () => {
    set(statusOf({ containers: { main: {} } }));
    manager.terminatePod(pod);
    const last = manager.find('uid-web');
    expect(last).toMatchObject({ isFinished: true, status: { phase: 'Failed' } });
    expect(set(statusOf({ containers: { main: {} } }))).toBe('finished');
    expect(manager.setContainerReadiness('uid-web', 'main-0', true)).toBe(false);
    manager.terminatePod(pod);
    expect(manager.find('uid-web')).toBe(last);
  });

  it('starts over once it is forgotten', () => {
    set(statusOf({ containers: { main: {} } }));
    manager.terminatePod(pod);
    manager.forget('uid-web');
    expect(set(statusOf({}))).toBe('changed');
    expect(manager.find('uid-web')).toMatchObject({ version: 1, isFinished: false });
  });

  it('and was never seen has none', () => {
    manager.terminatePod(pod);
    expect(manager.list()).toEqual([]);
  });
});

describe('what probes say', () => {
  const readyOf = (): [boolean, boolean, string] => {
    const { containerStatuses, conditions } = shown();
    const [{ ready, started } = { ready: false, started: false }] = containerStatuses;
    return [ready, started, conditions.find(({ type }) => type === 'Ready')!.status];
  };

  it('shows at once, conditions included', () => {
    set(statusOf({ ...probed, containers: { main: {} } }, false));
    expect(readyOf()).toEqual([false, false, 'False']);
    expect(manager.setContainerStartup('uid-web', 'main-0', true)).toBe(true);
    clock.stall(60_000);
    expect(manager.setContainerReadiness('uid-web', 'main-0', true)).toBe(true);
    expect(readyOf()).toEqual([true, true, 'True']);
    const times = shown().conditions.map(
      ({ type, lastTransitionTime }) => `${type} ${lastTransitionTime.slice(14, 16)}`,
    );
    expect(times).toContain('Ready 05');
    expect(times).toContain('Initialized 04');
    expect(manager.setContainerReadiness('uid-web', 'main-0', false)).toBe(true);
    expect(readyOf()).toEqual([false, true, 'False']);
  });

  it('makes nothing ready that has not started', () => {
    set(statusOf({ ...probed, containers: { main: {} } }, false));
    manager.setContainerReadiness('uid-web', 'main-0', true);
    expect(readyOf()).toEqual([false, false, 'False']);
  });

  it('changes nothing of init containers that are through', () => {
    const initContainers = [{ name: 'setup', image: 'i' }];
    const scene = { spec: { ...probed.spec, initContainers }, containers: { setup: exited, main: {} } };
    const { pod: withInit } = somePodActionInputs(scene);
    set(statusOf(scene, false), withInit);
    expect(shown().initContainerStatuses).toMatchObject([{ ready: true, started: false }]);
    manager.setContainerStartup('uid-web', 'main-0', true);
    expect(shown().initContainerStatuses).toMatchObject([{ ready: true, started: false }]);
  });

  it('is put on top of a status that was computed from what was known before', () => {
    set(statusOf({ ...probed, containers: { main: {} } }, true));
    const before = clock.stamp();
    manager.setContainerReadiness('uid-web', 'main-0', false);
    manager.setPodStatus(
      pod,
      statusOf({ ...probed, containers: { main: { restartCount: 7 } } }, true),
      before,
    );
    expect(shown().containerStatuses[0]?.restartCount).toBe(7);
    expect(readyOf()).toEqual([false, true, 'False']);
    set(statusOf({ ...probed, containers: { main: {} } }, true));
    expect(readyOf()).toEqual([true, true, 'True']);
  });

  it('is of one container, as long as it runs', () => {
    set(statusOf({ ...probed, containers: { main: [exited, {}] } }, true));
    expect(manager.setContainerReadiness('uid-web', 'main-0', false)).toBe(false);
    expect(manager.setContainerReadiness('uid-web', '1', false)).toBe(false);
    expect(manager.setContainerReadiness('other', 'main-1', false)).toBe(false);
    expect(readyOf()).toEqual([true, true, 'True']);
    expect(manager.find('uid-web')?.version).toBe(1);
  });

  it('changes sidecars, too', () => {
    const initContainers = [aSidecar('mesh', { readinessProbe: {} })];
    const { pod: withSidecar } = somePodActionInputs({ spec: { initContainers } });
    set(statusOf({ spec: { initContainers }, containers: { mesh: {}, main: {} } }, true), withSidecar);
    manager.setContainerReadiness('uid-web', 'mesh-0', false);
    expect(shown().initContainerStatuses?.[0]?.ready).toBe(false);
    expect(readyOf()).toEqual([true, true, 'False']);
  });
});

describe('why a container is being created still', () => {
  const waiting = (): unknown => shown().containerStatuses[0]!.state.waiting;

  it('is shown until the next status of the pod', () => {
    expect(manager.setCreatingMessage('uid-web', 'main', 'Pulling 1%')).toBe(false);
    set(statusOf({}));
    expect(manager.setCreatingMessage('uid-web', 'other', 'Pulling 1%')).toBe(false);
    expect(manager.setCreatingMessage('uid-web', 'main', 'Pulling 1%')).toBe(true);
    expect(manager.setCreatingMessage('uid-web', 'main', 'Pulling 2%')).toBe(true);
    expect(waiting()).toEqual({ reason: 'ContainerCreating', message: 'Pulling 2%' });
    set(statusOf({}));
    expect(waiting()).toEqual({ reason: 'ContainerCreating' });
  });

  it('is not said of one that exists', () => {
    set(statusOf({ containers: { main: {} } }));
    expect(manager.setCreatingMessage('uid-web', 'main', 'Pulling 1%')).toBe(false);
    expect(shown().containerStatuses[0]!.state.running).toBeDefined();
  });
});

describe('who listens for changes', () => {
  it('gets the newest status of each pod, and hears when one is gone', async () => {
    using changes = manager.subscribe();
    set(statusOf({}));
    set(statusOf({}), podNamed('other'));
    set(statusOf({ containers: { main: {} } }));
    manager.forget('uid-other');
    const seen: unknown[] = [];
    for await (const change of changes) {
      seen.push(change.type === 'status' ? [change.record.pod.name, change.record.version] : change.type);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual([['web', 2], 'removed']);
    expect(changes.folded).toBe(2);
  });

  it('can have every single status, through the diagnostics channel', () => {
    const seen: unknown[] = [];
    const leave = podStatusChanged.subscribe((change) =>
      seen.push(change.type === 'status' ? change.record.version : change.type),
    );
    set(statusOf({}));
    set(statusOf({ containers: { main: {} } }));
    set(statusOf({ containers: { main: {} } }));
    manager.setContainerReadiness('uid-web', 'main-0', false);
    manager.forget('uid-web');
    leave();
    set(statusOf({}));
    expect(seen).toEqual([1, 2, 3, 'removed']);
  });

  it('has to read everything again when too many pods have changed', () => {
    const changes = manager.subscribe();
    for (const name of ['a', 'b', 'c', 'd']) set(statusOf({}), podNamed(name));
    expect([changes.take(), changes.take(), changes.folded]).toEqual([{ type: 'resync' }, undefined, 4]);
    set(statusOf({}), podNamed('e'));
    expect(changes.take()).toMatchObject({ type: 'status' });
    changes.close();
  });

  it('hears nothing of what did not change, nor after it went', () => {
    const changes = manager.subscribe();
    set(statusOf({}));
    changes.take();
    set(statusOf({}));
    manager.setContainerReadiness('uid-web', 'gone', true);
    expect(changes.take()).toBeUndefined();
    changes.close();
    changes.close();
    set(statusOf({ containers: { main: {} } }));
    expect(changes.take()).toBeUndefined();
  });

  it('waits for what comes, and ends when it is closed', async () => {
    const changes = manager.subscribe();
    const all = (async () => {
      const types: string[] = [];
      for await (const { type } of changes) types.push(type);
      return types;
    })();
    await clock.settle();
    set(statusOf({}));
    await clock.settle();
    manager.forget('uid-web');
    await clock.settle();
    changes.close();
    expect(await all).toEqual(['status', 'removed']);
  });

  it('reads alone', async () => {
    const changes = manager.subscribe();
    const first = changes[Symbol.asyncIterator]().next();
    await expect(changes[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'SUBSCRIPTION_IN_USE',
    });
    changes.close();
    expect(await first).toMatchObject({ done: true });
  });
});
