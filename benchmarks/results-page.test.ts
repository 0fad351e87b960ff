import { expect, it } from 'vitest';
import { replaceSection } from './results-page.js';

it('puts a new section behind the others', () => {
  expect(replaceSection('# Results\n', 'Relist', 'table')).toBe('# Results\n\n## Relist\n\ntable\n');
});

it('replaces a section and leaves its neighbours as they are', () => {
  const page = '# Results\n\n## Relist\n\nold\n\nmore\n\n## Latency\n\nkept\n';
  expect(replaceSection(page, 'Relist', 'new')).toBe('# Results\n\n## Relist\n\nnew\n\n## Latency\n\nkept\n');
  expect(replaceSection(page, 'Latency', 'new')).toBe(
    '# Results\n\n## Relist\n\nold\n\nmore\n\n## Latency\n\nnew\n',
  );
});
