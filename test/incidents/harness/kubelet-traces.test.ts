import { expect, it } from 'vitest';
import { findTraces } from './kubelet-traces.js';

const klog = (text: string): string => `E1129 17:02:37.123456    4711 kuberuntime_manager.go:1234] ${text}\n`;
const USUAL = klog('"Failed to get system container stats" err="failed to get cgroup stats for 7"');
const failed = (pod: string, id: string): string =>
  klog(`"Failed to stop sandbox" pod="default/${pod}" podSandboxID="${id.repeat(64)}"`);

it('finds the errors that a kubelet logged during an incident and not before', () => {
  const during = `${USUAL}${klog('"Failed to get system container stats" err="failed to get cgroup stats for 9"')}I1129 17:02:38.0    4711 x.go:1] "all well"\n${failed('web', 'a')}${failed('db', 'b')}${klog('once')}`;
  expect(findTraces({ log: USUAL, metrics: '' }, { log: during, metrics: '' }, 0)).toEqual({
    log: [`2× "Failed to stop sandbox" pod="default/web" podSandboxID="aaaaaaaaaaaa…"`, 'once'],
    metrics: ['its metrics are not answered'],
  });
});

it('keeps lines short, and leaves folders of the test out', () => {
  const log = klog(`"Error" err="open /tmp/podloop-x/y: ${'z'.repeat(400)}"`);
  const [line] = findTraces({ log: '', metrics: 'a 1\n' }, { log, metrics: 'a 1\n' }, 0).log;
  expect(line).toMatch(/^"Error" err="open … ?z+…$/);
  expect(line!.length).toBeLessThanOrEqual(151);
});

it('finds calls that failed, and a relist that is late', () => {
  const count = (operation: string, number: number): string =>
    `kubelet_runtime_operations_errors_total{operation_type="${operation}"} ${number}\n`;
  const before = `${count('exec_sync', 2)}kubelet_pleg_last_seen_seconds 99\n`;
  const metrics = `${count('exec_sync', 5)}${count('stop_podsandbox', 1)}kubelet_pleg_last_seen_seconds 100\n`;
  const find = (atMs: number) => findTraces({ log: '', metrics: before }, { log: '', metrics }, atMs).metrics;
  const errors = [
    'kubelet_runtime_operations_errors_total{operation_type="exec_sync"} +3',
    'kubelet_runtime_operations_errors_total{operation_type="stop_podsandbox"} +1',
  ];
  expect(find(101_000)).toEqual(errors);
  expect(find(145_000)).toEqual(['kubelet_pleg_last_seen_seconds 45 s ago', ...errors]);
});
