import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.js';
import { ApiRouter } from './api-router.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const answer = (): never => {
  throw new Error('nothing is answered here');
};

function refusalOf(router: ApiRouter, method: string, path: string): ApiError | undefined {
  try {
    router.find(method, path);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

describe('a method that a path does not have', () => {
  // Every set of methods that a path can have.
  const sets = Array.from({ length: 2 ** METHODS.length - 1 }, (_, bits) =>
    METHODS.filter((_method, index) => ((bits + 1) >> index) % 2 === 1),
  );

  it.each(sets)('is refused with those that it has: %s %s %s %s %s', (...methods) => {
    const router = new ApiRouter();
    for (const method of methods) router.answer(method, '/pods/:name', answer);
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    for (const method of [...METHODS, 'HEAD', 'OPTIONS', 'TRACE', 'BREW']) {
      const refusal = refusalOf(router, method, '/pods/web');
      const isServed = allow.includes(method);
      expect(refusal && { code: refusal.code, allow: refusal.allow }).toEqual(
        isServed ? undefined : { code: 405, allow },
      );
      expect(refusalOf(router, method, '/other')).toMatchObject({ code: 404, allow: undefined });
    }
  });

  it('is refused where connections are upgraded, as these have no headers alone', () => {
    const router = new ApiRouter();
    router.upgrade('/exec/:name', answer);
    expect(refusalOf(router, 'HEAD', '/exec/web')?.allow).toEqual(['GET', 'POST']);
    expect(refusalOf(router, 'PUT', '/exec/web')?.allow).toEqual(['GET', 'POST']);
  });
});
