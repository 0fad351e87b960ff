import { type Finding } from '../finding.js';
import { type UnitFacts } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { unitsOfRuntime } from '../units.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { count, formatMs } from './words.js';

/** It reports what happens on a node, and no pod needs it. */
const OBSERVER = 'podloop-observe.service';

/** Units that do not stay up, and a systemd that does not answer. */
export const unitRules: Rule = ({ atMs, machine, runtime, agent, kubelet }) => {
  const { units = [], silentForMs } = valueOf(machine.systemd) ?? {};
  const hasKubelet = kubelet.health.known || valueOf(machine.daemons)?.kubelet !== undefined;
  const needed = [
    ...unitsOfRuntime(runtime.endpoint).map((unit) => `${unit}.service`),
    // Where podloop's agent has the node, a kubelet has been switched off.
    ...(agent.known ? [] : ['kubelet.service']),
    // And where a kubelet has it, somebody tried podloop there.
    ...(hasKubelet ? [] : ['podloop.service']),
    OBSERVER,
  ];
  return [
    ...(silentForMs === undefined ? [] : [toSystemdHangs(silentForMs)]),
    ...units.filter(({ name }) => needed.includes(name)).flatMap((unit) => judge(unit, atMs)),
  ];
};

function judge(unit: UnitFacts, atMs: number): Finding[] {
  const { name, activeState, subState, restarts, forMs } = unit;
  const isDown = activeState === 'failed' || subState === 'auto-restart';
  // One that has run for a while since its last restart is well again.
  const isYoung = forMs !== undefined && forMs < LIMITS.unitYoungMs;
  if (!isDown && (restarts < LIMITS.unitRestarts || !isYoung)) return [];
  const starts = restarts === 0 ? '' : ` systemd has started it again ${count(restarts, 'time')},`;
  const when = forMs === undefined ? '' : ` ${formatMs(forMs)} ago`;
  return [
    {
      ...{ code: 'UnitFails', severity: isDown && name !== OBSERVER ? 'critical' : 'warning', unit: name },
      ...(forMs !== undefined && { sinceMs: atMs - forMs }),
      message: isDown
        ? `${name} does not stay up:${starts} it ended${when} (${describeEnd(unit)})`
        : `${name} does not stay up:${starts} the last time${when}`,
      evidence: [
        `systemd: ${name} is ${activeState} (${subState}), Result=${unit.result}, ExecMainStatus=${unit.exitStatus}, NRestarts=${restarts}`,
      ],
      remedy: howToMend(unit),
    },
  ];
}

function describeEnd({ result, exitStatus }: UnitFacts): string {
  switch (result) {
    case 'exit-code':
      return `exit status ${exitStatus}`;
    case 'signal':
    case 'core-dump':
      return `killed by signal ${exitStatus}`;
    case 'oom-kill':
      return 'killed for want of memory';
    case 'timeout':
      return 'it did not start or stop in its time';
    case 'watchdog':
      return 'it did not answer systemd’s watchdog';
    case 'start-limit-hit':
      return 'systemd has given up after too many starts';
    default:
      return result;
  }
}

function howToMend({ name, activeState }: UnitFacts): string {
  const unit = name.replace(/\.service$/, '');
  const read = `Read why it ends, which interrupts nothing: journalctl -u ${unit} -n 50 --no-pager.`;
  return activeState === 'failed'
    ? `${read} systemd does not start it again: when that is mended, systemctl reset-failed ${unit} && systemctl start ${unit}, over which pods go on.`
    : `${read} systemd goes on starting it; pods go on meanwhile, and nobody looks after them.`;
}

function toSystemdHangs(forMs: number): Finding {
  return {
    ...{ code: 'SystemdHangs', severity: 'warning' },
    message:
      'systemd does not answer: with the systemd cgroup driver no container starts or ends, as runc waits for it',
    evidence: [`no answer of systemctl show within ${formatMs(forMs)}`],
    remedy:
      'See what process 1 and dbus-daemon (or dbus-broker) wait for: cat /proc/1/stack /proc/1/wchan, journalctl -b -u dbus -n 50. systemctl daemon-reexec starts systemd again in place, and interrupts no unit.',
  };
}
