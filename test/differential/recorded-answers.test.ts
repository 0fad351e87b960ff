import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ServerAnswer } from './api-server-program.js';
import { comparePod } from './compare-pods.js';
import { compareYaml } from './compare-yaml.js';
import { PLACE_DIFFERENCES } from './compare-paths.js';
import { DIFFERENCES, YAML_DIFFERENCES } from './deliberate-differences.js';

interface Recorded {
  readonly kubernetes: string;
  readonly pods: readonly { readonly name: string; readonly text: string; readonly answer: ServerAnswer }[];
  readonly yaml: readonly { readonly text: string; readonly answer: ServerAnswer }[];
}

const { kubernetes, pods, yaml } = JSON.parse(
  readFileSync(new URL('recorded-answers.json', import.meta.url), 'utf8'),
) as Recorded;

describe(`pods with one thing changed, beside what Kubernetes ${kubernetes} says of them`, () => {
  it('are taken and refused as there, with the same defaults or at the same place, but for what differs on purpose', () => {
    expect(pods.length).toBeGreaterThan(300);
    const faults = pods.flatMap(({ name, text, answer }) => {
      const found = comparePod(text, answer);
      return found.kind === 'fault' ? [`${found.what}: ${name}: ${found.why}`] : [];
    });
    expect(faults).toEqual([]);
  });

  it('are read as there where they are YAML', () => {
    expect(yaml.length).toBeGreaterThan(200);
    const faults = yaml.flatMap(({ text, answer }) => {
      const found = compareYaml(text, answer);
      return found.kind === 'fault' ? [`${found.what}: ${JSON.stringify(text)}: ${found.why}`] : [];
    });
    expect(faults).toEqual([]);
  });
});

it('says on the page of manifests what is stricter or named elsewhere, and why', () => {
  const page = readFileSync(new URL('../../docs/reference/manifests.md', import.meta.url), 'utf8');
  const words = page.replaceAll(/[\s|]+/g, ' ');
  for (const { name, reason } of [...DIFFERENCES, ...YAML_DIFFERENCES, ...PLACE_DIFFERENCES]) {
    expect(words).toContain(`${name} ${reason}`);
  }
});
