import { describe, expect, it } from 'vitest';
import { type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { ObjectTurns } from './object-turns.js';

function ask(name: string, body: Promise<unknown> = Promise.resolve({})): ApiRequest {
  return {
    ...{ method: 'PATCH', path: '/', headers: {}, params: { namespace: 'default', name } },
    ...{ query: new URLSearchParams(), signal: new AbortController().signal, readBody: async () => body },
  };
}

/** Changes that end when they are told to, by the order in which they began. */
function setUp() {
  const begun: { readonly name: string; readonly end: () => void; readonly fail: () => void }[] = [];
  const change = new ObjectTurns({ nodeName: 'n1' }).inTurn('pods', async (request) => {
    await request.readBody();
    return new Promise((resolve, reject) => {
      const end = (): void => resolve(jsonAnswer({}));
      begun.push({ name: request.params['name'] ?? '', end, fail: () => reject(new Error('refused')) });
    });
  });
  const names = (): string[] => begun.map(({ name }) => name);
  const settle = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return { begun, change, names, settle };
}

describe('changes of an object', () => {
  it('follow one another, and those of others do not wait', async () => {
    const { begun, change, names, settle } = setUp();
    const all = ['web', 'web', 'db'].map(async (name) => change(ask(name)));
    await settle();
    expect(names().sort()).toEqual(['db', 'web']);
    for (const { end } of begun) end();
    await settle();
    expect(names().filter((name) => name === 'web')).toHaveLength(2);
    begun.at(-1)!.end();
    await Promise.all(all);
  });

  it('follow one another under both names of a pod', async () => {
    const { begun, change, names, settle } = setUp();
    const all = ['web', 'web-n1', 'web-n2'].map(async (name) => change(ask(name)));
    await settle();
    expect(names()).toHaveLength(2);
    expect(names()).toContain('web-n2');
    for (const { end } of begun) end();
    await settle();
    expect(names().sort()).toEqual(['web', 'web-n1', 'web-n2']);
    begun.at(-1)!.end();
    await Promise.all(all);
  });

  it('go on after one that failed', async () => {
    const { begun, change, settle } = setUp();
    const refused = change(ask('web'));
    const next = change(ask('web'));
    await settle();
    begun[0]!.fail();
    await expect(refused).rejects.toThrow('refused');
    await settle();
    begun[1]!.end();
    await next;
  });

  it('do not wait for a body that somebody else is still sending', async () => {
    const { begun, change, names, settle } = setUp();
    void change(ask('web', new Promise(() => undefined)));
    const next = change(ask('web'));
    await settle();
    expect(names()).toEqual(['web']);
    begun[0]!.end();
    await next;
  });
});
