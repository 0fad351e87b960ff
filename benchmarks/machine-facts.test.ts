import { expect, it } from 'vitest';
import { formatMachineFacts, isBusy, listMeasured, readMachineFacts } from './machine-facts.js';

it('leaves out what only agents of clusters load, unless the scenario has such agents', () => {
  expect(listMeasured({})).toContain(':(exclude)src/cluster');
  expect(listMeasured({})).toContain(':(exclude)benchmarks/cluster');
  const joined = listMeasured({ joinsCluster: true });
  expect(joined).toContain('test/cluster/harness');
  expect(joined.filter((path) => path.startsWith(':(exclude)src/'))).toEqual([]);
});

it('says where others were at work, and what was measured beside', () => {
  const facts = { ...readMachineFacts(), cores: 2, versions: { kubelet: 'v1.36.3' } };
  expect(isBusy({ ...facts, loadBefore: 1 })).toBe(false);
  expect(formatMachineFacts({ ...facts, loadBefore: 1.2 })).toContain(
    'load before 1.20 (**others were at work**)',
  );
  expect(formatMachineFacts({ ...facts, loadBefore: 0.2 })).toMatch(
    /kubelet v1\.36\.3, .*load before 0\.20$/,
  );
});
