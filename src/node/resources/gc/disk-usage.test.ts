import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { diskUsageAt } from './disk-usage.js';

it('the disk of a folder is as large as it is', async () => {
  const { capacityBytes, availableBytes } = await diskUsageAt(tmpdir());
  expect(capacityBytes).toBeGreaterThan(1024 * 1024);
  expect(availableBytes).toBeGreaterThanOrEqual(0);
  expect(availableBytes).toBeLessThanOrEqual(capacityBytes);
});
