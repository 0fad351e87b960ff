import { expect, it } from 'vitest';
import { readManifests } from './manifest-reader.js';

const SPEC = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } };
const read = (value: object) => readManifests(JSON.stringify(value), { file: 'job.json' });
const jobOf = (metadata: object, more: object = {}) => ({
  ...{ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { ...SPEC, ...more } },
});
const nameOf = (value: object): string => {
  const { objects, problems } = read(value);
  expect(problems).toEqual([]);
  return objects[0]!.object.metadata.name;
};

it('a Job that leaves its name to an API server has one that begins so, the same at each reading', () => {
  const name = nameOf(jobOf({ generateName: 'sum-', namespace: 'shop' }));
  expect(name).toMatch(/^sum-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  expect(nameOf(jobOf({ namespace: 'shop', generateName: 'sum-' }))).toBe(name);
  expect(nameOf(jobOf({ namespace: 'shop', generateName: 'sum-', name: '' }))).not.toBe('');
});

it.each([
  ['is edited', jobOf({ generateName: 'sum-' }, { backoffLimit: 2 })],
  ['is in another namespace', jobOf({ generateName: 'sum-', namespace: 'shop' })],
])('it has another name when it %s', (_, value) => {
  expect(nameOf(value)).not.toBe(nameOf(jobOf({ generateName: 'sum-' })));
});

it('a long beginning is cut, as an API server cuts it', () => {
  expect(nameOf(jobOf({ generateName: 'a'.repeat(70) }))).toMatch(/^a{58}[a-z0-9]{5}$/);
});

it('a name makes generateName void', () => {
  expect(nameOf(jobOf({ name: 'sum', generateName: 'other-' }))).toBe('sum');
});

it.each([
  ['that no name can begin with', jobOf({ generateName: 'Sum_' }), 'metadata.name'],
  ['that is no text', jobOf({ generateName: 4 }), 'metadata.generateName'],
  ['that is empty, as without one', jobOf({ generateName: '' }), 'metadata.name'],
])('a beginning %s is reported', (_, value, path) => {
  expect(read(value).problems.map((problem) => problem.path)).toContain(path);
});

it('what is read as the same object each time needs a name', () => {
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { selector: { matchLabels: { a: 'b' } }, template };
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { generateName: 'web-' }, spec };
  expect(read(deployment).problems.map(({ path }) => path)).toEqual(['metadata.generateName']);
});
