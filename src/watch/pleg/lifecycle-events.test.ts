import { describe, expect, it } from 'vitest';
import { aContainer, aContainerStatus, aPod, aPodStatus, aSandbox } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type ContainerStatus, type PodStatus } from '../observed/runtime.js';
import { type ContainerChange } from './diff.js';
import { toLifecycleEvents } from './lifecycle-events.js';

const pod = { uid: 'u', namespace: 'default', name: 'web' };
const context = {
  pod,
  owner: 'kubernetes',
  trigger: 'event',
  stamp: new FakeClock().stamp(),
  observedAtMs: 5,
} as const;

const statusWith = (...containers: ContainerStatus[]): PodStatus => aPodStatus(aPod(), { containers });
const exited = aContainerStatus(aContainer({ id: 'c', state: 'exited' }), {
  exitCode: 137,
  reason: 'OOMKilled',
  finishedAtNs: 7n,
  startedAtNs: 3n,
});
const running = aContainerStatus(aContainer({ id: 'c', state: 'running' }), { startedAtNs: 3n });

const change = (type: ContainerChange['type'], container = aContainer({ id: 'c' })): ContainerChange => ({
  type,
  container,
});
const NOTHING = { exitCode: undefined, reason: undefined, occurredAtNs: undefined };

describe('toLifecycleEvents', () => {
  it('contains the change, the container, the pod, and how it was found', () => {
    const sandbox = aSandbox({ id: 's', name: 'web', createdAtNs: 5n });
    expect(toLifecycleEvents([change('ContainerStarted', sandbox)], [statusWith()], context)).toEqual([
      {
        type: 'ContainerStarted',
        kind: 'sandbox',
        containerId: 's',
        containerName: 'web',
        ...context,
        ...NOTHING,
        occurredAtNs: 5n,
      },
    ]);
  });

  it('leaves out changes into an unknown state', () => {
    const events = toLifecycleEvents(
      [change('ContainerChanged'), change('ContainerDied')],
      [statusWith(exited)],
      context,
    );
    expect(events.map(({ type }) => type)).toEqual(['ContainerDied']);
    expect(toLifecycleEvents([change('ContainerChanged')], [], context)).toEqual([]);
  });

  it('takes the exit from the status, or from the one before if the container is gone from it', () => {
    const exit = { exitCode: 137, reason: 'OOMKilled', occurredAtNs: 7n };
    for (const statuses of [
      [statusWith(exited)],
      [statusWith(), statusWith(exited)],
      [statusWith(running), statusWith(exited)],
    ]) {
      expect(toLifecycleEvents([change('ContainerDied')], statuses, context)[0]).toMatchObject(exit);
    }
  });

  it('has no exit that no status shows, and no reason or time that was not reported', () => {
    for (const statuses of [[], [statusWith()], [statusWith(running)]]) {
      expect(toLifecycleEvents([change('ContainerDied')], statuses, context)[0]).toMatchObject(NOTHING);
    }
    const bare = { ...exited, exitCode: 0, reason: '', finishedAtNs: 0n };
    expect(toLifecycleEvents([change('ContainerDied')], [statusWith(bare)], context)[0]).toMatchObject({
      exitCode: 0,
      reason: undefined,
      occurredAtNs: undefined,
    });
  });

  it('has the time of a start, and nothing for a removal', () => {
    const [started, removed] = toLifecycleEvents(
      [change('ContainerStarted'), change('ContainerRemoved')],
      [statusWith(exited)],
      context,
    );
    expect(started).toMatchObject({ ...NOTHING, occurredAtNs: 3n });
    expect(removed).toMatchObject(NOTHING);
    const unstarted = { ...running, startedAtNs: 0n };
    expect(
      toLifecycleEvents([change('ContainerStarted')], [statusWith(unstarted)], context)[0],
    ).toMatchObject(NOTHING);
  });
});
