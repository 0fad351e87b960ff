/**
 * docs/reference/pod-spec.md has every field as the tables of src/kube have it. After a change of those, write it anew:
 * `npx vitest run test/pod-spec-page.test.ts -u`.
 *
 * @module
 */
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';
import { formatPodSpecTables, podSpecRows } from './pod-spec-page.js';
import { readText, REPOSITORY } from './source-tree.js';

const PAGE = 'docs/reference/pod-spec.md';
const MARK = '<!-- From the tables of src/kube; see test/pod-spec-page.test.ts. -->';

it('the page of all fields has every field of the tables, cell by cell, and no other', async () => {
  const file = path.join(REPOSITORY, PAGE);
  const [prose = ''] = readText(PAGE).split(MARK);
  const text = `${prose}${MARK}\n\n${formatPodSpecTables()}\n`;
  const wanted = await format(text, { ...(await resolveConfig(file)), parser: 'markdown' });
  await expect(wanted).toMatchFileSnapshot(file);
});

it('names each field once, and says of each that is refused or ignored what to do or why', () => {
  const rows = podSpecRows();
  const paths = rows.map((row) => row.path);
  expect(paths).toEqual([...new Set(paths)]);
  expect(paths).toEqual(
    expect.arrayContaining([
      ...['metadata.labels', 'spec.volumes[].csi', 'spec.containers[].env[].valueFrom.fieldRef.fieldPath'],
      ...['spec.initContainers', 'spec.containers[].livenessProbe.httpGet.httpHeaders[].name'],
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchFields',
    ]),
  );
  expect(paths.some((each) => each.startsWith('spec.initContainers['))).toBe(false);
  const silent = rows.filter(({ support, remarks }) => /refused|ignored/.test(support) && remarks === '');
  expect(silent).toEqual([]);
});
