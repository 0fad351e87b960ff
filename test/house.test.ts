import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from './source-tree.js';

interface Row {
  readonly name: string;
  readonly value: number;
  readonly limit?: number;
}

const { stdout } = spawnSync(process.execPath, ['scripts/house.mjs', '--json'], {
  cwd: REPOSITORY,
  encoding: 'utf8',
});

describe('the arrangement of the sources', () => {
  it.each((JSON.parse(stdout) as Row[]).filter(({ limit }) => limit !== undefined))(
    'keeps to its limit: $name',
    ({ value, limit }) => {
      expect(value).toBeLessThanOrEqual(limit!);
    },
  );
});
