import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.js';
import { type Authorize } from './api-request.js';
import { closePaths, type ClosedPaths } from './close-paths.js';

const PODS = '/api/v1/namespaces/:namespace/pods';
const POD = `${PODS}/:name`;
const CLIENT = { localAddress: '::1', remoteAddress: '::1', certificate: undefined };

async function ask(closed: Partial<ClosedPaths>, method: string, template: string, known?: Authorize) {
  const authorize = closePaths(known ?? (() => undefined), {
    debugging: false,
    systemLogs: false,
    ...closed,
  });
  const request = { method, path: template, template, headers: {}, signal: new AbortController().signal };
  const verdict = await authorize(request, CLIENT);
  return verdict instanceof ApiError ? `${verdict.code} ${verdict.message}` : verdict;
}

describe('paths that an operator has closed', () => {
  it.each([
    ['GET', '/containerLogs/:namespace/:name/:container'],
    ['POST', '/exec/:namespace/:name/:container'],
    ['GET', `${POD}/log`],
    ['POST', `${POD}/exec`],
    ['GET', `${POD}/portforward`],
    ['POST', PODS],
    ['PUT', POD],
    ['PATCH', POD],
    ['DELETE', POD],
    ['PATCH', '/api/v1/namespaces/:namespace/configmaps/:name'],
    ['GET', '/logs/'],
  ])(
    'are, without debugging, what reaches into containers or changes objects: %s %s',
    async (method, path) => {
      expect(await ask({ debugging: true }, method, path)).toBe('405 Debug endpoints are disabled.');
      expect(await ask({}, method, path)).toBeUndefined();
    },
  );

  it.each(['/pods', '/metrics', '/stats/summary', '/api/v1/pods', PODS, POD])(
    'are not, without debugging, what is only read of pods: %s',
    async (path) => {
      expect(await ask({ debugging: true }, 'GET', path)).toBeUndefined();
    },
  );

  it('are the folder of logs by a switch of its own', async () => {
    expect(await ask({ systemLogs: true }, 'GET', '/logs/')).toBe('405 logs endpoint is disabled.');
    expect(await ask({ systemLogs: true }, 'GET', `${POD}/log`)).toBeUndefined();
  });

  it('are not revealed to a client that would not be admitted', async () => {
    const refuse: Authorize = () => new ApiError('Unauthorized', 'Unauthorized');
    expect(await ask({ debugging: true }, 'DELETE', POD, refuse)).toBe('401 Unauthorized');
  });
});
