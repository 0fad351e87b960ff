import { describe, expect, it } from 'vitest';
import { type ApiAnswer, type ApiRequest } from '../http/api-request.js';
import { listNodes, type ServedNode } from './serve-node.js';

const NODE: ServedNode = {
  ...{ name: 'one', ips: ['192.0.2.7'], createdAtMs: 0, capacity: {}, allocatable: {}, problems: [] },
  ...{ containerRuntimeVersion: 'containerd://2', kernelVersion: '6.1', architecture: 'amd64' },
};

/** The names in the list. */
function list(query: string): string[] {
  const request: ApiRequest = {
    ...{ method: 'GET', path: '/api/v1/nodes', headers: {}, signal: new AbortController().signal },
    ...{ params: {}, query: new URLSearchParams(query), readBody: async () => undefined },
  };
  const answer = listNodes(() => NODE, '1.0.0')(request) as ApiAnswer;
  if (answer.kind !== 'json') throw new Error(`it is ${answer.kind}`);
  const { items } = answer.body as { readonly items: readonly { readonly metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name);
}

describe('the list of nodes', () => {
  it.each([
    ['', ['one']],
    ['fieldSelector=metadata.name%3Done', ['one']],
    ['fieldSelector=metadata.name%3Dother', []],
    ['fieldSelector=spec.unschedulable%3Dtrue', []],
    ['labelSelector=kubernetes.io/arch%3Damd64,kubernetes.io/hostname', ['one']],
    ['labelSelector=kubernetes.io/arch%3Darm64', []],
    ['watch=false', ['one']],
  ])('has the one that there is, if %j asks for it', (query, names) => {
    expect(list(query)).toEqual(names);
  });

  it.each([
    ['watch=true', { reason: 'MethodNotAllowed', message: 'nodes cannot be watched' }],
    ['fieldSelector=status.phase%3Dx', { reason: 'BadRequest' }],
    ['labelSelector=%3D', { reason: 'BadRequest' }],
  ])('refuses %j, and does not answer something else', (query, refusal) => {
    expect(() => list(query)).toThrow(expect.objectContaining(refusal));
  });
});
