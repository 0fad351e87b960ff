import { expect, it } from 'vitest';
import { Endings } from './endings.js';

it('ends all of it, the last first, whatever fails on the way', async () => {
  const ended: string[] = [];
  const endings = new Endings();
  endings.defer({ close: () => ended.push('first') });
  endings.use({ [Symbol.asyncDispose]: () => Promise.reject(new Error('stuck')) });
  endings.defer({ close: () => ended.push('last') });
  await expect(endings[Symbol.asyncDispose]()).rejects.toMatchObject({ errors: [new Error('stuck')] });
  expect(ended).toEqual(['last', 'first']);
  await endings[Symbol.asyncDispose]();
  expect(ended).toHaveLength(2);
});
