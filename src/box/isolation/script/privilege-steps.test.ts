import { describe, expect, it } from 'vitest';
import { renderPrivilegeSteps } from './privilege-steps.js';

const TOOLS = { inside: (name: string) => [name] };
const ROOT = { uid: 0, gid: 0, groups: [0, 7], home: '/root' };

describe('renderPrivilegeSteps', () => {
  it('takes two steps for root', () => {
    const steps = renderPrivilegeSteps(
      { user: ROOT, capabilities: { bounding: ['chown', 'kill'], ambient: [] }, noNewPrivs: true },
      TOOLS,
    );
    expect(steps.join(' ')).toBe(
      'chroot --skip-chdir --userspec=+0:+0 --groups=+0,+7 / ' +
        'setpriv --inh-caps=-all --no-new-privs --bounding-set=-all,+chown,+kill',
    );
  });

  it('sets users by number alone, after the bounding set was cut and before the last rights go', () => {
    const steps = renderPrivilegeSteps(
      {
        user: { uid: 1000, gid: 2000, groups: [7, 8], home: '/' },
        capabilities: { bounding: [], ambient: [] },
        noNewPrivs: false,
      },
      TOOLS,
    );
    expect(steps.join(' ')).toBe(
      'setpriv --inh-caps=-all,+setuid,+setgid,+sys_chroot,+setpcap setpriv --bounding-set=-all ' +
        'chroot --skip-chdir --userspec=+1000:+2000 --groups=+7,+8 / setpriv --inh-caps=-all',
    );
  });

  it('keeps ambient capabilities over the change of the user, and no security bits after it', () => {
    const steps = renderPrivilegeSteps(
      {
        user: { uid: 1000, gid: 1000, groups: [], home: '/' },
        capabilities: { bounding: ['net_raw'], ambient: ['net_raw'] },
        noNewPrivs: false,
      },
      TOOLS,
    ).join(' ');
    expect(steps).toContain('--securebits=+no_setuid_fixup');
    expect(steps).toMatch(
      /--groups= .*--inh-caps=-all,\+net_raw --securebits=-no_setuid_fixup --ambient-caps=-all,\+net_raw$/,
    );
  });
});
