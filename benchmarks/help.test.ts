import { expect, it } from 'vitest';
import { formatHelp } from './help.js';
import { SCENARIOS } from './scenarios.js';

it('leaves room between every setting and what it is', () => {
  const lines = formatHelp(SCENARIOS).split('\n');
  const columns = new Set<number>();
  for (const { settings } of SCENARIOS) {
    for (const { name, placeholder, about } of settings) {
      const line = lines.find((each) => each.includes(`--${name} ${placeholder}`) && each.includes(about))!;
      expect(line).toMatch(new RegExp(`--${name} ${placeholder} {2,}\\S`));
      columns.add(line.indexOf(about));
    }
  }
  expect(columns.size).toBe(1);
});

it('leaves room behind every name, and lines up what scenarios are about', () => {
  const lines = formatHelp(SCENARIOS).split('\n');
  const columns = SCENARIOS.map(({ name, about }) => {
    const line = lines.find((each) => each.startsWith(`  ${name} `) && each.endsWith(about))!;
    expect(line).toMatch(new RegExp(`^  ${name} {2,}\\S`));
    return line.length - about.length;
  });
  expect(new Set(columns).size).toBe(1);
});
