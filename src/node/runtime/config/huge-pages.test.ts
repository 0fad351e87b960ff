import { describe, expect, it } from 'vitest';
import { computeHugepageLimits, parseHugepageFolder } from './huge-pages.js';

const SIZES = ['hugepages-1048576kB', 'hugepages-2048kB', 'other'].flatMap(
  (name) => parseHugepageFolder(name) ?? [],
);

describe('the huge pages of a container', () => {
  it('are none of any size unless it says so', () => {
    expect(computeHugepageLimits({}, SIZES)).toEqual([
      { pageSize: '1GB', limit: 0n },
      { pageSize: '2MB', limit: 0n },
    ]);
    expect(computeHugepageLimits({}, [])).toEqual([]);
  });

  it('are as many as its limit says', () => {
    const resources = { limits: { 'hugepages-2Mi': '4Mi', 'hugepages-64Ki': '64Ki', memory: '1Mi' } };
    expect(computeHugepageLimits({ resources }, SIZES)).toEqual([
      { pageSize: '1GB', limit: 0n },
      { pageSize: '2MB', limit: 4_194_304n },
      { pageSize: '64KB', limit: 65_536n },
    ]);
  });
});
