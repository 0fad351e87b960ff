import { describe, expect, it } from 'vitest';

import { isEarlyPanic } from './machine.js';

const PANIC = '[    1.679340] Kernel panic - not syncing: Fatal exception in interrupt';
const INIT = '[    5.800319] Run /init as init process';

describe('a console', () => {
  it.each([
    [[PANIC], true],
    [['[    0.000000] Linux version 6.12.0', PANIC, '[    1.7] ---[ end Kernel panic ]---'], true],
    // The disk may have been written to: that is a finding.
    [[INIT, PANIC], false],
    [['[    5.8] Run /sbin/init as init process', PANIC], false],
    [['[    5.8] Run /lib/systemd/systemd as init process', 'node login:', PANIC], false],
    [[INIT, 'node login:'], false],
    [[], false],
  ])('with the lines %j shows a panic before the first program: %s', (lines, isEarly) => {
    expect(isEarlyPanic(lines.join('\n'))).toBe(isEarly);
  });
});
