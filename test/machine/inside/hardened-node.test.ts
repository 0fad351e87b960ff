/**
 * A node that is set up as security guides say, and a node whose names change: /proc with hidepid=2, /tmp with noexec, nftables
 * with a drop policy, another host name and machine id. The agent is the example unit with the runtime in the box.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shell, shellOutput, untilPrints } from './node-shell.js';
import { findLife, putSleeper, removeUnits, startUnits, untilAlive } from './unit-under-test.js';

const DROP_ALL = `table inet guard {
  chain input { type filter hook input priority 0; policy drop; iifname "lo" accept; ct state established,related accept; tcp dport 22 accept; }
  chain forward { type filter hook forward priority 0; policy drop; }
  chain output { type filter hook output priority 0; policy accept; }
}`;
const probed = (kind: string): string => `      readinessProbe:
        ${kind}: { command: [cat, /proc/self/stat] }
        periodSeconds: 1
        timeoutSeconds: 120
`;
const untilReady = async (pod: string): Promise<string> =>
  untilPrints('podloop get pods --no-headers 2>&1', new RegExp(`^${pod}-\\S+\\s+1/1\\s+Running`, 'm'));

describe('a hardened node', () => {
  beforeAll(async () => {
    await shell('mount -o remount,hidepid=2 /proc');
    await shell('mount -t tmpfs -o noexec,nosuid,nodev tmpfs /tmp');
    await shell(`nft -f - <<'RULES'\n${DROP_ALL}\nRULES`);
    await startUnits('agent');
  });

  afterAll(async () => {
    await removeUnits();
    await shell('nft delete table inet guard; umount /tmp; mount -o remount,hidepid=0 /proc');
  });

  it('runs a pod with a probe that runs a command', async () => {
    await putSleeper('probed', { more: probed('exec') });
    await untilReady('probed');
  });

  it('runs commands in its container', async () => {
    const pod = (await shell('podloop get pods -o name')).replace('pod/', '');
    expect(await shell(`podloop exec ${pod} -- sh -c 'echo said'`)).toBe('said');
  });

  it('has nothing for doctor to complain about but what it is told to change', async () => {
    const words = await shellOutput('podloop doctor 2>&1');
    expect(words).not.toMatch(/stack|TypeError|undefined/);
  });
});

describe('a node with another host name and machine id at the next start of the agent', () => {
  beforeAll(async () => {
    await startUnits('agent');
  });

  afterAll(async () => {
    await removeUnits();
    await shell('hostnamectl hostname node');
  });

  it('keeps its container, whose pod has the name of the node now', async () => {
    await putSleeper('stays');
    const life = await untilAlive('stays');
    await untilPrints('podloop get pods --no-headers 2>&1', /^stays-node\s/m);
    await shell('systemctl stop podloop; hostnamectl hostname renamed');
    await shell(
      'rm -f /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; systemctl start podloop',
    );
    await untilPrints('podloop get pods --no-headers 2>&1', /^stays-renamed\s+1\/1\s+Running/m);
    const lives = (await findLife('stays')).split('\n');
    // A static pod's name has the node's in it, so that it is another pod; the old one may not run beside it.
    expect(lives).toHaveLength(1);
    expect(await shell('podloop get pods --no-headers')).not.toContain('stays-node ');
    expect(life).not.toBe('');
  });
});
