import { describe, expect, it } from 'vitest';
import { type ApiRequest } from '../http/api-request.js';
import { deleteObject, type ObjectToRemove, type Removed } from './delete-object.js';

function ask(query = '', body?: unknown): ApiRequest {
  return {
    ...{ method: 'DELETE', path: '/', headers: {}, signal: new AbortController().signal },
    params: { namespace: 'default', name: 'settings' },
    query: new URLSearchParams(query),
    readBody: async () => body,
  };
}

function setUp(outcome: Removed = { kind: 'removed' }) {
  const asked: ObjectToRemove[] = [];
  const handle = deleteObject('ConfigMap', 'configmaps', async (object) => {
    asked.push(object);
    return outcome;
  });
  return { asked, handle };
}

describe('a delete of an object that is no pod', () => {
  it('is handed on and answered with its end', async () => {
    const { asked, handle } = setUp();
    expect(await handle(ask())).toMatchObject({
      body: { kind: 'Status', status: 'Success', details: { name: 'settings', kind: 'configmaps' } },
    });
    const noted = await setUp({ kind: 'removed', note: 'its manifest /m/ä"b.yaml was removed' }).handle(
      ask(),
    );
    expect(noted).toMatchObject({ headers: { warning: '299 - "its manifest /m/?\\"b.yaml was removed"' } });
    await handle(ask('dryRun=All'));
    await handle(ask('', { dryRun: ['All'] }));
    const object = { kind: 'ConfigMap', namespace: 'default', name: 'settings' };
    expect(asked).toEqual([false, true, true].map((isDryRun) => ({ ...object, isDryRun })));
  });

  it.each<[Removed, number, string]>([
    [{ kind: 'not found' }, 404, 'configmaps "settings" not found'],
    [
      { kind: 'refused', reason: 'Conflict', message: 'it stands in a.yaml' },
      409,
      'Operation cannot be fulfilled on configmaps "settings": it stands in a.yaml',
    ],
    [
      { kind: 'refused', reason: 'MethodNotAllowed', message: 'it comes from http' },
      405,
      'it comes from http',
    ],
  ])('%o is answered as %i', async (outcome, code, words) => {
    const refusal = setUp(outcome).handle(ask());
    await expect(refusal).rejects.toMatchObject({ code });
    await expect(refusal).rejects.toThrow(words);
  });

  it('removes nothing when another one was meant', async () => {
    const { asked, handle } = setUp();
    await expect(handle(ask('', { preconditions: { uid: 'other' } }))).rejects.toMatchObject({ code: 409 });
    expect(asked).toEqual([]);
  });
});
