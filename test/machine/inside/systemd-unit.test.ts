/**
 * The example units under a real systemd, with the runtime in the box: readiness, and containers that live through restarts of
 * agent and runtime in every order. Runs as root in a machine of `npm run test:machine`.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shell, shellOutput, untilPrints } from './node-shell.js';
import {
  findLife,
  putSleeper,
  quotePattern,
  removeUnits,
  runtimePids,
  startUnits,
  untilAlive,
} from './unit-under-test.js';

const KILL_AGENT = 'systemctl kill --kill-whom=main --signal=KILL podloop';
const [STOP_AGENT, START_AGENT] = ['systemctl stop podloop', 'systemctl start podloop'];
const [STOP_RUNTIME, START_RUNTIME] = ['systemctl stop podloop-runtime', 'systemctl start podloop-runtime'];
const RUNTIME = quotePattern('agent');
const WHILE_RUNTIME_ENDS = `while pgrep -f ${RUNTIME} >/dev/null; do sleep 0.2; done`;

type Order = readonly [words: string, script: string];
const ORDERS: Readonly<Record<'agent' | 'unit', readonly Order[]>> = {
  agent: [
    ['the agent alone', 'systemctl restart podloop'],
    ['the agent, killed', KILL_AGENT],
    ['the runtime alone', `pkill -f ${RUNTIME}`],
    ['the runtime, killed', `pkill -KILL -f ${RUNTIME}`],
    ['the agent, then the runtime', `systemctl restart podloop; pkill -f ${RUNTIME}`],
    ['the runtime, then the agent', `pkill -f ${RUNTIME}; systemctl restart podloop`],
    [
      'both, the agent down while the runtime ends',
      `${STOP_AGENT}; pkill -f ${RUNTIME}; ${WHILE_RUNTIME_ENDS}; ${START_AGENT}`,
    ],
    ['both, killed at once', `pkill -KILL -f ${RUNTIME}; ${KILL_AGENT}`],
  ],
  unit: [
    ['the agent alone', 'systemctl restart podloop'],
    ['the runtime alone', 'systemctl restart podloop-runtime'],
    ['the runtime, killed', 'systemctl kill --kill-whom=main --signal=KILL podloop-runtime'],
    ['both, in one command', 'systemctl restart podloop podloop-runtime'],
    ['both, the runtime back first', `${STOP_RUNTIME}; ${STOP_AGENT}; ${START_RUNTIME}; ${START_AGENT}`],
    [
      'both, the agent back first',
      `${STOP_AGENT}; ${STOP_RUNTIME}; systemctl start --no-block podloop; sleep 3; ${START_RUNTIME}`,
    ],
  ],
};

describe.each(['agent', 'unit'] as const)(
  'with the runtime in the box that is started by its %s',
  (starter) => {
    let life: string;

    beforeAll(async () => {
      await startUnits(starter);
      await putSleeper('stays');
      life = await untilAlive('stays');
    });

    afterAll(async () => {
      await removeUnits();
      expect(await shellOutput('ls -d /sys/fs/cgroup/podloop 2>/dev/null')).toBe('');
      expect(await findLife('stays')).toBe('');
    });

    it('the agent’s unit is active as soon as systemctl start returns, for the agent said that it is ready', async () => {
      const shown = await shell('systemctl show podloop -p ActiveState -p SubState -p Type -p NRestarts');
      expect(shown.split('\n').sort()).toEqual([
        ...['ActiveState=active', 'NRestarts=0', 'SubState=running', 'Type=notify'],
      ]);
    });

    it('containers are in groups outside of the units’, which have the controllers that limits need', async () => {
      const [pid] = life.split(' ');
      // The container's own view may begin at its group: process 1 sees all of the path.
      const group = await shell(`nsenter -t 1 -C cat /proc/${pid}/cgroup`);
      expect(group).toMatch(/^0::\/podloop\//);
      const controllers = await shell('cat /sys/fs/cgroup/podloop/cgroup.controllers');
      expect(controllers.split(' ')).toEqual(expect.arrayContaining(['cpu', 'memory', 'pids']));
    });

    it.each(ORDERS[starter])('containers live through a restart of %s', async (_, script) => {
      await shell(script);
      await untilPrints('systemctl is-active podloop', /^active$/);
      // Somebody looks after the pod again: it is listed as running, and by a runtime that is there.
      await untilPrints('podloop get pods --no-headers 2>&1', /^stays-\S+ .*\bRunning\b/m);
      await untilPrints(`pgrep -c -f ${quotePattern(starter)}`, /^1$/);
      expect(await findLife('stays')).toBe(life);
      expect(await shell('podloop get pods --no-headers')).toMatch(/^stays-\S+\s+1\/1\s+Running\s+0\b/m);
    });

    it('a container that dies afterwards is restarted', async () => {
      const [pid] = life.split(' ');
      await shell(`kill -KILL ${pid}; while test -e /proc/${pid}; do sleep 0.1; done`);
      expect(await untilAlive('stays')).not.toBe(life);
    });

    it('a pod whose manifest is removed while the agent is down ends', async () => {
      await putSleeper('goes');
      await untilAlive('goes');
      await shell(`${STOP_AGENT}; rm /etc/podloop/manifests/goes.yaml; ${START_AGENT}`);
      await untilPrints('podloop get pods --no-headers 2>&1', (text) => !text.includes('goes'));
      expect(await findLife('goes')).toBe('');
      expect(await runtimePids(starter)).toHaveLength(1);
    });
  },
);
