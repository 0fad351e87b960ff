import { expect, it } from 'vitest';
import { listMeasured } from './machine-facts.js';

it('leaves out what only agents of clusters load, unless the scenario has such agents', () => {
  expect(listMeasured({})).toContain(':(exclude)src/cluster');
  expect(listMeasured({})).toContain(':(exclude)benchmarks/cluster');
  const joined = listMeasured({ joinsCluster: true });
  expect(joined).toContain('test/cluster/harness');
  expect(joined.filter((path) => path.startsWith(':(exclude)src/'))).toEqual([]);
});
