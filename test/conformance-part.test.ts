import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CONFORMANCE_PAGE, readPart, replacePart } from './conformance-part.js';

const PAGE = `# Page

<!-- part e2e: written by a program -->

old

<!-- end of e2e -->
<!-- part critest: written by another -->

kept

<!-- end of critest -->
`;

it('replaces one part and keeps what stands around it', () => {
  const page = replacePart(PAGE, 'e2e', '## new\n');
  expect(readPart(page, 'e2e').trim()).toBe('## new');
  expect(readPart(page, 'critest')).toBe(readPart(PAGE, 'critest'));
  expect(replacePart(page, 'e2e', 'old')).toBe(PAGE);
});

it('says so when a page has no such part', () => {
  expect(() => replacePart('# Page', 'critest', 'x')).toThrow('no part critest');
});

it('finds both parts in the page of the project', () => {
  const page = readFileSync(CONFORMANCE_PAGE, 'utf8');
  for (const part of ['e2e', 'critest'] as const) expect(readPart(page, part)).toContain('### ');
});
