import { expect, it } from 'vitest';
import { type Container } from '#kube/container/container.js';
import { aSpecContainer } from '#support/builders/node-pods.js';
import { quotesSecrets, takesSecrets } from './quotes-secrets.js';

const SECRET = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } };
const FILE = {
  name: 'PIN',
  valueFrom: { fileKeyRef: { volumeName: 'data', path: 'own.env', key: 'PIN' } },
};
const ALL = [{ secretRef: { name: 'keys' } }];

it.each<[string, Partial<Container>, boolean]>([
  ['what is a Secret', { env: [SECRET], command: ['run', '$(TOKEN)'] }, true],
  [
    'what is made of a Secret',
    { env: [SECRET, { name: 'URL', value: 'x$(TOKEN)' }], args: ['$(URL)'] },
    true,
  ],
  ['what may be any key of a Secret', { envFrom: ALL, args: ['$(token)'] }, true],
  ['what is in a file', { env: [FILE], args: ['$(PIN)'] }, true],
  ['what no Secret is for', { envFrom: ALL, env: [{ name: 'A', value: 'b' }], args: ['$(A)'] }, false],
  ['nothing but has a Secret', { env: [SECRET], envFrom: ALL, command: ['run', '$$(TOKEN)'] }, false],
])('recognizes a command that refers to %s', (_, fields, isQuoted) => {
  expect(quotesSecrets(aSpecContainer(fields))).toBe(isQuoted);
});

it('recognizes a command that refers to a great many variables', () => {
  const env = Array.from({ length: 20_000 }, (_, at) => ({ name: `V${at}`, value: '' }));
  const args = ['$(V19999)'.repeat(100_000)];
  expect(quotesSecrets(aSpecContainer({ envFrom: ALL, env, args }))).toBe(false);
  expect(quotesSecrets(aSpecContainer({ envFrom: ALL, env, args: [`${args[0]!}$(token)`] }))).toBe(true);
});

it('a container with variables from a Secret or a file takes what may be secret', () => {
  expect(takesSecrets(aSpecContainer({ env: [SECRET] }))).toBe(true);
  expect(takesSecrets(aSpecContainer({ env: [FILE] }))).toBe(true);
  expect(takesSecrets(aSpecContainer({ envFrom: ALL }))).toBe(true);
  expect(takesSecrets(aSpecContainer({ env: [{ name: 'A', value: 'b' }] }))).toBe(false);
});
