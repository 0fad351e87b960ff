import { describe, expect, it } from 'vitest';
import { type ApiRequest, type TextAnswer } from '../http/api-request.js';
import { type HealthCheck, healthHandlers } from './health.js';

const well = (name: string): HealthCheck => ({ name, findProblem: () => undefined });
const sick = (name: string): HealthCheck => ({ name, findProblem: () => `${name} hangs` });

function ask(path: string, query = '', { pleg = well('pleg'), showsReasons = false } = {}): TextAnswer {
  const ping = well('ping');
  const checks = { healthz: [ping, pleg], livez: [ping], readyz: [ping, pleg] };
  const request: ApiRequest = {
    ...{ method: 'GET', path, params: {}, query: new URLSearchParams(query), headers: {} },
    ...{ signal: new AbortController().signal, readBody: async () => undefined },
  };
  const answer = healthHandlers(checks, showsReasons).get(path)!(request);
  return answer as TextAnswer;
}

describe('health', () => {
  it('is ok in one word, and check by check for those who want to see more', () => {
    expect(ask('/healthz')).toMatchObject({ code: 200, body: 'ok' });
    expect(ask('/healthz', 'verbose').body).toBe('[+]ping ok\n[+]pleg ok\nhealthz check passed\n');
    expect(ask('/readyz', 'verbose=true').body).toContain('readyz check passed');
    expect(ask('/livez', 'verbose').body).toBe('[+]ping ok\nlivez check passed\n');
  });

  it('names what is not well, without the reason where anybody may ask', () => {
    const pleg = sick('pleg');
    const withheld = '[+]ping ok\n[-]pleg failed: reason withheld\nhealthz check failed\n';
    expect(ask('/healthz', '', { pleg })).toMatchObject({ code: 500, body: withheld });
    expect(ask('/readyz', '', { pleg, showsReasons: true }).body).toContain('[-]pleg failed: pleg hangs\n');
    expect(ask('/livez', '', { pleg }).code).toBe(200);
  });

  it('has a path for each check, which says why', () => {
    const pleg = sick('pleg');
    expect(ask('/healthz/pleg', '', { pleg })).toMatchObject({
      ...{ code: 500, body: 'internal server error: pleg hangs\n' },
    });
    expect(ask('/healthz/ping', '', { pleg })).toMatchObject({ code: 200, body: 'ok' });
  });

  it('passes over what is excluded, and says which of it there is not', () => {
    const pleg = sick('pleg');
    expect(ask('/healthz', 'exclude=pleg', { pleg })).toMatchObject({ code: 200, body: 'ok' });
    expect(ask('/healthz', 'exclude=pleg&exclude=x&verbose', { pleg }).body).toBe(
      '[+]ping ok\n[+]pleg excluded: ok\n' +
        'warn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
    );
  });
});
