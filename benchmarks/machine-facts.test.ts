import { expect, it } from 'vitest';
import {
  countChangesSince,
  formatMachineFacts,
  isBusy,
  listMeasured,
  readMachineFacts,
} from './machine-facts.js';

it('leaves out what only agents of clusters load, unless the scenario has such agents', () => {
  expect(listMeasured({})).toContain(':(exclude)src/cluster');
  expect(listMeasured({})).toContain(':(exclude)benchmarks/cluster');
  const joined = listMeasured({ joinsCluster: true });
  expect(joined).toContain('test/cluster/harness');
  expect(joined.filter((path) => path.startsWith(':(exclude)src/'))).toEqual([]);
});

it('counts what makes the program of its sources among what figures depend on', () => {
  const measured = listMeasured({});
  expect(measured).toContain('scripts/bundle-program.mjs');
  expect(measured).toContain('tsconfig.build.json');
});

it('says of no commit that nobody can know what has changed since', () => {
  for (const commit of ['unknown', 'abc123+', '0000000000', '--all'])
    expect(countChangesSince({}, commit)).toBeUndefined();
});

it('finds nothing changed since the commit that it takes figures to be of', () => {
  const { commit } = readMachineFacts();
  if (!/^[0-9a-f]+$/.test(commit)) return; // Files that are in no commit, or no repository.
  expect(countChangesSince({}, commit)).toBe(0);
});

it('says so in words where nobody can know which files were measured', () => {
  const facts = { ...readMachineFacts(), loadBefore: 0 };
  expect(formatMachineFacts({ ...facts, commit: 'abc123' })).toContain('UTC, commit abc123, Node');
  expect(formatMachineFacts({ ...facts, commit: 'abc123+' })).toContain(
    'UTC, commit abc123 (**with files that are in no commit**), Node',
  );
});

it('says where others were at work, and what was measured beside', () => {
  const facts = { ...readMachineFacts(), cores: 2, versions: { kubelet: 'v1.37.2' } };
  expect(isBusy({ ...facts, loadBefore: 1 })).toBe(false);
  expect(formatMachineFacts({ ...facts, loadBefore: 1.2 })).toContain(
    'load before 1.20 (**others were at work**)',
  );
  expect(formatMachineFacts({ ...facts, loadBefore: 0.2 })).toMatch(
    /kubelet v1\.37\.2, .*load before 0\.20$/,
  );
});
