import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ContainerLifecycleEvent, type PodLifecycleEvent } from '../../../node/observer.js';
import { SystemClock } from '#base/time/clock.js';
import { createEventPrinter } from './event-printer.js';

const AT_MS = Date.UTC(2026, 10, 21, 10, 26, 42, 444);
const POD = { uid: 'b3e6', namespace: 'default', name: 'web' };
const stamp = new SystemClock().stamp();

const died: ContainerLifecycleEvent = {
  type: 'ContainerDied',
  kind: 'container',
  pod: POD,
  owner: 'kubernetes',
  containerId: 'c0ffee',
  containerName: 'main',
  exitCode: 3,
  reason: 'Error',
  occurredAtNs: BigInt(AT_MS) * 1_000_000n - 12_345_678n,
  trigger: 'relist',
  stamp,
  observedAtMs: AT_MS,
};
const startedSandbox: ContainerLifecycleEvent = {
  ...died,
  type: 'ContainerStarted',
  kind: 'sandbox',
  containerId: '5a9d',
  containerName: 'web',
  exitCode: undefined,
  reason: undefined,
  occurredAtNs: undefined,
};

/** A text line without its head, which has the local time. */
function bodyOf(format: 'text' | 'wide', event: PodLifecycleEvent): string {
  return createEventPrinter(
    format,
    7,
  )(event).replace(/^I\d{4} \d\d:\d\d:\d\d\.\d{6} {7}7 event-text\.ts:\d+] /, '');
}

describe('events as text', () => {
  it('read like the kubelet’s line, with what it leaves out behind', () => {
    expect(bodyOf('text', died)).toBe(
      '"SyncLoop (PLEG): event for pod" pod="default/web" event={"ID":"b3e6","Type":"ContainerDied","Data":"c0ffee"}' +
        ' podUID="b3e6" containerName="main" exitCode=3 reason="Error"',
    );
  });

  it('say that it is a sandbox, and not its name, which is the pod’s', () => {
    expect(bodyOf('text', startedSandbox)).toMatch(/"Data":"5a9d"} podUID="b3e6" kind="sandbox"$/);
  });

  it('have kind, owner, trigger and latency when wide', () => {
    expect(bodyOf('wide', died)).toMatch(
      / containerName="main" exitCode=3 reason="Error" kind="container" owner="kubernetes" trigger="relist" latency="12.345678ms"$/,
    );
  });

  it('say how many events stand behind a PodSync or a Resync', () => {
    const base = { trigger: 'relist', stamp, observedAtMs: AT_MS } as const;
    expect(bodyOf('text', { ...base, type: 'PodSync', pod: POD, folded: 4 })).toBe(
      '"SyncLoop (PLEG): event for pod" pod="default/web" event={"ID":"b3e6","Type":"PodSync","Data":null} podUID="b3e6" folded=4',
    );
    expect(bodyOf('text', { ...base, type: 'PodSync', pod: POD, folded: 0 })).not.toContain('folded');
    expect(bodyOf('text', { ...base, type: 'Resync', folded: 9 })).toBe(
      '"SyncLoop (PLEG): resync all pods" folded=9',
    );
    expect(bodyOf('wide', { ...base, type: 'ConditionMet', pod: POD, conditionKey: 'ready' })).toMatch(
      /condition="ready" trigger="relist"$/,
    );
  });
});

describe('events as data', () => {
  it('are one JSON object on one line', () => {
    const line = createEventPrinter('json', 7)(died);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({
      time: '2026-11-21T10:26:42.444Z',
      type: 'ContainerDied',
      kind: 'container',
      pod: { uid: 'b3e6', namespace: 'default', name: 'web' },
      containerId: 'c0ffee',
      container: 'main',
      exitCode: 3,
      reason: 'Error',
      trigger: 'relist',
      owner: 'kubernetes',
      occurredAt: '2026-11-21T10:26:42.431654322Z',
      latencyMs: 12.345678,
    });
  });

  it('leave out what is not known', () => {
    const record = JSON.parse(createEventPrinter('json', 7)(startedSandbox)) as object;
    for (const key of ['exitCode', 'reason', 'occurredAt', 'latencyMs'])
      expect(record).not.toHaveProperty(key);
  });

  it('have no latency in the first look, which shows what happened before', () => {
    const record = JSON.parse(createEventPrinter('json', 7)({ ...died, trigger: 'initial' })) as object;
    expect(record).not.toHaveProperty('latencyMs');
    expect(record).toHaveProperty('occurredAt');
  });

  it('are one document each as YAML, with the same keys', () => {
    const text = createEventPrinter('yaml', 7)(died);
    expect(text.startsWith('---\n')).toBe(true);
    expect(parse(text)).toEqual(JSON.parse(createEventPrinter('json', 7)(died)));
  });
});
