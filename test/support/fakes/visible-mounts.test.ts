import { describe, expect, it } from 'vitest';
import { parseMountinfo } from '#base/proc/mountinfo.js';
import { visibleMountsBelow } from './visible-mounts.js';

const TABLE = parseMountinfo(`22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:26 / /mnt/a\\040b rw,nosuid master:7 - tmpfs tmpfs rw
31 30 0:27 / /mnt/a\\040b/below rw - tmpfs tmpfs rw
32 27 0:28 / /mnt/ab rw - tmpfs tmpfs rw
`);

describe('visibleMountsBelow', () => {
  it('lists what is mounted below a path', () => {
    const below = (path: string) => visibleMountsBelow(TABLE, path).map(({ mountPoint }) => mountPoint);
    expect(below('/mnt')).toEqual(['/mnt/a b', '/mnt/a b/below', '/mnt/ab']);
    expect(below('/mnt/a b')).toEqual(['/mnt/a b/below']);
    expect(below('/')).toHaveLength(4);
  });

  it('leaves out mounts that others hide, in whatever order they are listed', () => {
    const lines = [
      '1 0 0:1 / / rw - ext4 x rw',
      '2 1 0:2 / /data rw - ext4 x rw',
      '3 2 0:3 / /data/hidden rw - ext4 x rw',
      '4 2 0:4 / /data rw,nosuid - ext4 over rw',
      '5 4 0:5 / /data/seen rw - ext4 x rw',
      '6 1 0:6 / /a/b/c rw - ext4 x rw',
      '7 6 0:7 / /a/b/c/d rw - ext4 x rw',
      '8 1 0:8 / /a/b rw - tmpfs over rw',
      '9 8 0:9 / /a/b/seen ro - tmpfs x rw',
    ];
    for (const text of [lines, lines.toReversed()].map((each) => `${each.join('\n')}\n`)) {
      const ids = visibleMountsBelow(parseMountinfo(text), '/').map(({ id }) => id);
      expect(ids.sort((a, b) => a - b)).toEqual([4, 5, 8, 9]);
    }
    expect(parseMountinfo(`${lines.join('\n')}\n`)[8]?.restrictions).toEqual(['ro']);
  });
});
