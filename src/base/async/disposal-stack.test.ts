import { expect, it } from 'vitest';
import { DisposalStack } from './disposal-stack.js';

const stuck = (message: string) => ({ [Symbol.asyncDispose]: () => Promise.reject(new Error(message)) });

it('ends all of it, the last first, one after another, whatever fails on the way', async () => {
  const ended: string[] = [];
  const stack = new DisposalStack();
  stack.defer(() => ended.push('first'));
  stack.use(stuck('stuck'));
  stack.defer(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    ended.push('slow');
  });
  stack.defer(() => {
    throw new Error('broken');
  });
  stack.defer(() => ended.push('last'));
  const errors = [new Error('broken'), new Error('stuck')];
  await expect(stack[Symbol.asyncDispose]()).rejects.toMatchObject({ message: 'broken; stuck', errors });
  expect(ended).toEqual(['last', 'slow', 'first']);
  await stack[Symbol.asyncDispose]();
  expect(ended).toHaveLength(3);
});

it('rejects with the only failure itself', async () => {
  const stack = new DisposalStack();
  stack.use(stuck('stuck'));
  await expect(stack[Symbol.asyncDispose]()).rejects.toEqual(new Error('stuck'));
});

it('ends nothing that was moved away', async () => {
  const ended: string[] = [];
  const stack = new DisposalStack();
  const resource = stack.use({ [Symbol.asyncDispose]: async () => void ended.push('one') });
  stack.defer(() => ended.push('two'));
  const moved = stack.move();
  await stack[Symbol.asyncDispose]();
  expect([ended, typeof resource]).toEqual([[], 'object']);
  stack.defer(() => ended.push('three'));
  await moved[Symbol.asyncDispose]();
  expect(ended).toEqual(['two', 'one']);
  await stack[Symbol.asyncDispose]();
  expect(ended).toEqual(['two', 'one', 'three']);
});
