import { expect, it } from 'vitest';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';

const state = (scene: ServedPodsHarness, name: string, version: number): unknown => {
  const row = scene.table.list().find(({ served }) => served.pod.metadata.name === name)!;
  const found = scene.table.findAt(row, version);
  return typeof found === 'object' ? found.version : found;
};

it('remembers some former states of each pod, and a limited number of all together, and drops the oldest first', () => {
  const scene = new ServedPodsHarness();
  const names = Array.from({ length: 60 }, (_, at) => `pod-${at}`);
  const setAll = (v: number): void => {
    for (const name of names) scene.set({ name, labels: { v: String(v) } });
  };
  setAll(0);
  const first = scene.table.version;
  for (let v = 1; v <= 15; v++) setAll(v);
  expect(state(scene, 'pod-0', first)).toBe(first - 59);
  const middle = scene.table.version;
  for (let v = 16; v <= 18; v++) setAll(v);
  // 1,080 states went by: those of the first round are gone, though no pod has had twenty.
  expect(state(scene, 'pod-0', first)).toBe('forgotten');
  expect(state(scene, 'pod-59', first)).toBe('forgotten');
  expect(state(scene, 'pod-0', middle)).toBe(middle - 59);
  scene.remove('pod-0');
  setAll(19);
  expect(state(scene, 'pod-59', middle)).toBe(middle);
});
