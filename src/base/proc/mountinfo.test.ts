import { describe, expect, it } from 'vitest';
import { findMountOf, isBelow, parseMountinfo } from './mountinfo.js';

const TABLE = parseMountinfo(`22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:26 / /mnt/a\\040b rw,nosuid master:7 - tmpfs tmpfs rw
31 30 0:27 / /mnt/a\\040b/below rw - tmpfs tmpfs rw
32 27 0:28 / /mnt/ab rw - tmpfs tmpfs rw
`);

describe('a mountinfo table', () => {
  it('is parsed with propagation, restrictions and escaped paths', () => {
    expect(TABLE[0]).toEqual({
      id: 22,
      parentId: 27,
      mountPoint: '/proc',
      shared: true,
      slave: false,
      restrictions: ['nosuid', 'nodev', 'noexec'],
      fsType: 'proc',
    });
    expect(TABLE[2]).toEqual({
      id: 30,
      parentId: 27,
      mountPoint: '/mnt/a b',
      shared: false,
      slave: true,
      restrictions: ['nosuid'],
      fsType: 'tmpfs',
    });
  });

  it('shows which mount a path is on', () => {
    expect(findMountOf(TABLE, '/mnt/a b/x')?.mountPoint).toBe('/mnt/a b');
    expect(findMountOf(TABLE, '/mnt/a')?.mountPoint).toBe('/');
    expect(findMountOf(TABLE, '/mnt/abc')?.mountPoint).toBe('/');
  });
});

describe('isBelow', () => {
  it('compares whole names', () => {
    expect(isBelow('/a/b', '/a')).toBe(true);
    expect(isBelow('/a', '/a')).toBe(true);
    expect(isBelow('/ab', '/a')).toBe(false);
    expect(isBelow('/a', '/')).toBe(true);
  });
});
