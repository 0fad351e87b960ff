/**
 * A shutdown of the machine as systemd-logind announces it. The test has a lock of its own, so that the machine never gets as far as to
 * end anything, and takes the shutdown back by restarting logind, which forgets it.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shell, untilPrints } from './node-shell.js';
import { putSleeper, removeUnits, startUnits, untilAlive } from './unit-under-test.js';

const DROP_IN = '/etc/systemd/system/podloop.service.d/60-shutdown.conf';
const LOGIND_CONF = '/etc/systemd/logind.conf.d/99-kubelet.conf';
const MANAGER = 'org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager';
const RUN =
  '/usr/bin/env podloop run /etc/podloop/manifests --root-dir /var/lib/podloop --runtime-endpoint embedded';

describe('a machine that shuts down', () => {
  let own: ChildProcess;

  beforeAll(async () => {
    await startUnits('agent');
    // Far more than pods need: an emulated machine is slow, and must not end in the middle of the test.
    const flags = '--shutdown-grace-period 3h --shutdown-grace-period-critical-pods 1h';
    await writeFile(DROP_IN, `[Service]\nExecStart=\nExecStart=${RUN} ${flags}\n`);
    await shell('systemctl daemon-reload; systemctl restart podloop');
    await putSleeper('stays');
    await untilAlive('stays');
    await untilPrints('systemd-inhibit --list --no-legend --no-pager', /podloop .*shutdown .*delay/);
    own = spawn('systemd-inhibit', ['--what=shutdown', '--mode=delay', '--who=test', 'sleep', 'infinity']);
    await untilPrints('systemd-inhibit --list --no-legend --no-pager', /test .*shutdown .*delay/);
  });
  afterAll(async () => {
    await shell('systemctl restart systemd-logind');
    own.kill();
    await removeUnits();
    await rm(LOGIND_CONF, { force: true });
  });

  it('waits for as long as all periods take', async () => {
    expect(await readFile(LOGIND_CONF, 'utf8')).toContain('InhibitDelayMaxSec=10800');
    await untilPrints(`busctl get-property ${MANAGER} InhibitDelayMaxUSec`, /^t 10800000000$/);
  });

  it('ends its pods, starts none, gives the lock back, and has its pods again when that is cancelled', async () => {
    await shell(`busctl call ${MANAGER} PowerOff b false`);
    // The table shows why the container ended, as kubectl's does.
    const wanted = ['"phase": "Failed"', '"reason": "Terminated"'];
    await untilPrints('podloop get pods -o json', (text) => wanted.every((words) => text.includes(words)));
    await putSleeper('late');
    await untilPrints('podloop get pods --no-headers 2>&1', /^late-\S+ .*\bNodeShutdown\b/m);
    await untilPrints(
      'systemd-inhibit --list --no-legend --no-pager',
      (text) => text.includes('test') && !text.includes('podloop'),
    );
    await shell('systemctl restart systemd-logind');
    for (const name of ['stays', 'late'])
      await untilPrints(
        'podloop get pods --no-headers 2>&1',
        new RegExp(`^${name}-\\S+ .*\\bRunning\\b`, 'm'),
      );
    await untilPrints('systemd-inhibit --list --no-legend --no-pager', /podloop .*shutdown .*delay/);
  });
});
