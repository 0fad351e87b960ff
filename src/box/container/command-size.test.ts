import { describe, expect, it } from 'vitest';
import { findSizeExcess, findSizeFault } from './command-size.js';

const TOO_LONG = 'argument list too long';

describe('findSizeFault', () => {
  it('finds nothing wrong with what the kernel takes', async () => {
    const environment = Array.from({ length: 10 }, (_, at) => Buffer.from(`V${at}=${'x'.repeat(100_000)}`));
    expect(await findSizeFault({ argv: ['a', ''], environment })).toBeUndefined();
    expect(await findSizeFault({ argv: ['x'.repeat(128 * 1024 - 1)], environment: [] })).toBeUndefined();
  });

  it('finds a word that is too long, and too many words', async () => {
    expect(await findSizeFault({ argv: ['x'.repeat(128 * 1024)], environment: [] })).toBe(TOO_LONG);
    expect(await findSizeFault({ argv: ['a'], environment: [Buffer.alloc(133_000, 'x')] })).toBe(TOO_LONG);
    const environment = Array.from({ length: 100_000 }, (_, at) =>
      Buffer.from(`VARIABLE_${at}=${'x'.repeat(80)}`),
    );
    expect(await findSizeFault({ argv: ['a'], environment })).toBe(TOO_LONG);
  });

  it('finds what is too much only on its way to the command, where each value has a name more', async () => {
    const variables = (count: number) => Array.from({ length: count }, (_, at) => Buffer.from(`NAME_${at}=`));
    const { mostBytes = 0 } = (await findSizeExcess({ argv: ['x'.repeat(1 << 22)], environment: [] })) ?? {};
    const count = Math.floor(mostBytes / 32);
    const plain = variables(count).reduce((sum, { length }) => sum + length + 9, 16 * 1024);
    expect(plain).toBeLessThan(mostBytes);
    expect(await findSizeFault({ argv: ['a'], environment: variables(count) })).toBe(TOO_LONG);
    expect(await findSizeFault({ argv: ['a'], environment: variables(count / 2) })).toBeUndefined();
  });
});
