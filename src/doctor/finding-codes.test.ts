import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { FINDING_CODES } from './finding-codes.js';

const page = await readFile(new URL('../../docs/reference/doctor.md', import.meta.url), 'utf8');

describe('docs/reference/doctor.md', () => {
  it('has every code with its meaning, and no other', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` +\| (.*?) *\|$/gm)].map(([, code, text]) => [code, text]);
    expect(Object.fromEntries(rows)).toEqual(FINDING_CODES);
  });
});
