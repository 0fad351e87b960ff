import { describe, expect, it } from 'vitest';
import { renderResolvConf } from './sandbox-files.js';

describe('renderResolvConf', () => {
  it('writes what there is and nothing else', () => {
    expect(
      renderResolvConf({
        servers: ['1.1.1.1', '::1'],
        searches: ['a.b', 'c'],
        options: ['ndots:2', 'rotate'],
      }),
    ).toBe('search a.b c\nnameserver 1.1.1.1\nnameserver ::1\noptions ndots:2 rotate\n');
    expect(renderResolvConf({ servers: [], searches: [], options: [] })).toBe('');
  });
});
