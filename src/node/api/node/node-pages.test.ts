import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type ApiAnswer, type ApiRequest } from '../http/api-request.js';
import { nodePageHandlers } from './node-pages.js';

function aRequest(signal = new AbortController().signal): ApiRequest {
  return {
    ...{ method: 'GET', path: '/metrics', params: {}, query: new URLSearchParams(), headers: {}, signal },
    readBody: async () => undefined,
  };
}

function textOf(answer: ApiAnswer): string {
  if (answer.kind !== 'bytes') throw new Error(`it is ${answer.kind}`);
  return Buffer.from(answer.body).toString();
}

describe('the pages of a node', () => {
  it('are those that somebody makes, each of its type', async () => {
    const handlers = nodePageHandlers(
      { '/metrics': async () => 'up 1\n', '/configz': async () => '{}' },
      new FakeClock(),
    );
    expect([...handlers.keys()]).toEqual(['/metrics', '/configz']);
    const answer = await handlers.get('/metrics')!(aRequest());
    expect(answer).toMatchObject({ contentType: 'text/plain; version=0.0.4; charset=utf-8' });
    expect(textOf(answer)).toBe('up 1\n');
    expect(await handlers.get('/configz')!(aRequest())).toMatchObject({ contentType: 'application/json' });
  });

  it('may be made in pieces', async () => {
    const pieces = ['up ', '1\n'].map((piece) => Buffer.from(piece));
    const handlers = nodePageHandlers({ '/metrics': () => pieces }, new FakeClock());
    expect(textOf(await handlers.get('/metrics')!(aRequest()))).toBe('up 1\n');
  });

  it('are made once for all who ask at the same time', async () => {
    let made = 0;
    const handlers = nodePageHandlers({ '/metrics': async () => `made ${++made}\n` }, new FakeClock());
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => handlers.get('/metrics')!(aRequest())),
    );
    expect(new Set(answers.map((answer) => textOf(answer)))).toEqual(new Set(['made 1\n']));
  });

  it('that hang are given up with 504', async () => {
    const clock = new FakeClock();
    const handlers = nodePageHandlers({ '/metrics': async () => new Promise(() => undefined) }, clock);
    const refused = expect(handlers.get('/metrics')!(aRequest())).rejects.toMatchObject({
      code: 504,
      reason: 'Timeout',
    });
    await clock.advance(30_000);
    await refused;
  });
});
