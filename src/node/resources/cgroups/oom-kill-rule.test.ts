import { expect, it } from 'vitest';
import { killsWholeContainer } from './oom-kill-rule.js';

const V2 = '30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n';
const V1 = '31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n';

it.each([
  [undefined, V2, true],
  [false, V2, true],
  [true, V2, false],
  [undefined, V1, false],
  [true, V1, false],
  // Memory is counted by version 1 there.
  [undefined, V1 + V2.replace('/sys/fs/cgroup', '/sys/fs/cgroup/unified'), false],
  [undefined, '', false],
  [false, '', false],
])(
  'with singleProcessOOMKill %s and the mounts %j all of a container is killed: %s',
  (single, mounts, whole) => {
    expect(killsWholeContainer(single, mounts)).toBe(whole);
  },
);

it('what version 1 cannot do is refused with what to write', () => {
  expect(() => killsWholeContainer(false, V1)).toThrow(
    'singleProcessOOMKill: false needs cgroup v2, and this machine has v1; leave it out, or write true',
  );
});
