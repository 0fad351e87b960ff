import { describe, expect, it } from 'vitest';
import { type KubeClient } from '../client/kube-client.js';
import { listCollection } from './list-collection.js';

const PATH = '/api/v1/pods';
const pod = (name: string): object => ({ metadata: { name } });

/** Lists from a server that gives these answers one after another. */
async function list(...answers: readonly unknown[]) {
  const left = [...answers];
  const client: Pick<KubeClient, 'request'> = {
    request: async <T>() => Promise.resolve(left.shift() as T),
  };
  const { signal } = new AbortController();
  return listCollection(client, { path: PATH, query: {}, resourceVersion: '', signal });
}

describe('a list', () => {
  it.each<[string, unknown]>([
    ['without items', { metadata: { resourceVersion: '7' } }],
    ['with null for no items', { kind: 'PodList', metadata: { resourceVersion: '7' }, items: null }],
    ['of no items', { kind: 'List', metadata: { resourceVersion: '7' }, items: [] }],
  ])('%s says that there is nothing', async (_, answer) => {
    await expect(list(answer)).resolves.toEqual({ items: [], resourceVersion: '7', pages: 1 });
  });

  it('may end with a page that has nothing in it', async () => {
    const first = { metadata: { resourceVersion: '7', continue: 'more' }, items: [pod('one')] };
    const last = { metadata: { resourceVersion: '7', continue: '' }, items: [] };
    await expect(list(first, last)).resolves.toMatchObject({ items: [pod('one')], pages: 2 });
  });

  describe.each<[string, unknown]>([
    ['an empty body', undefined],
    ['null', null],
    ['an object with nothing in it', {}],
    ['a list of nothing', []],
    ['a text', 'ok'],
    ['the word of a proxy', { status: 'ok' }],
    ['a Status', { kind: 'Status', metadata: {}, status: 'Failure', code: 500 }],
    ['one object', { kind: 'Pod', metadata: { name: 'one', resourceVersion: '7' } }],
    ['a list of no version', { kind: 'PodList', metadata: {}, items: [] }],
    ['a list of an empty version', { kind: 'PodList', metadata: { resourceVersion: '' }, items: [] }],
    ['a list of something else than items', { metadata: { resourceVersion: '7' }, items: {} }],
  ])('is not what says %s', (_, answer) => {
    it('at once', async () => {
      await expect(list(answer)).rejects.toThrow(`${PATH}: the answer is no list`);
    });

    it('where more was announced', async () => {
      const first = { metadata: { resourceVersion: '7', continue: 'more' }, items: [pod('one')] };
      await expect(list(first, answer)).rejects.toThrow(`${PATH}: the answer is no list`);
    });
  });
});
