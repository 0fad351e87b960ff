import { type Finding } from '../finding.js';
import { type FindingCode } from '../finding-codes.js';
import { STARTING } from '../facts/connection-watch.js';
import { type ConnectionFacts } from '../facts/runtime-facts.js';
import { unitsOfRuntime } from '../units.js';
import { type Rule } from './rule.js';
import { howToUnlock, processOf } from './runtime-rules.js';
import { type DaemonFacts } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { formatMs } from './words.js';

/** Why a runtime cannot be reached, or that it comes and goes. */
export const connectionRules: Rule = ({ runtime: { endpoint, connection }, machine }) => {
  const { connected, attempts, failures, error = '', watchedMs } = connection;
  const evidence = [`${failures} of ${attempts} attempts failed within ${formatMs(watchedMs)}`, error].filter(
    (line) => line !== '',
  );
  if (connected) {
    if (failures === 0) return [];
    return [
      {
        ...{ code: 'RuntimeFlapping', severity: 'critical', evidence },
        message: `the runtime at ${endpoint} went away during the examination: it is being restarted, or crashes`,
        remedy: `See why it ends: journalctl -u ${unitsOfRuntime(endpoint)[0] ?? 'containerd'}, systemctl status, dmesg for the OOM killer. Pods go on meanwhile, and nobody sees what happens to them.`,
      },
    ];
  }
  const daemons = valueOf(machine.daemons);
  const explained = explain(connection, endpoint, daemons);
  const { startingRuntime, runtime } = daemons ?? {};
  // One that loads its pods listens already.
  const starting = startingRuntime ?? (STARTING.test(error) ? runtime : undefined);
  const isStarting = starting !== undefined && explained.code === 'RuntimeNotRunning';
  return [
    { ...explained, ...(isStarting ? explainStart(starting, endpoint) : {}), severity: 'critical', evidence },
  ];
};

/** A runtime that was started and does not answer yet. */
function explainStart(
  { pid, command, forMs }: Pick<NonNullable<DaemonFacts['startingRuntime']>, 'pid' | 'command' | 'forMs'>,
  endpoint: string,
): Pick<Finding, 'message' | 'remedy' | 'process'> {
  return {
    process: { pid, command },
    message: `nobody answers at ${endpoint} yet: ${command} (pid ${pid}) was started ${formatMs(forMs)} ago`,
    remedy: `It waits up to ten seconds for each shim that does not answer. If it stays so, kill -USR1 ${pid} makes it write down what it does, which interrupts nothing; a restart only begins again.`,
  };
}

function explain(
  { code = '', error = '' }: ConnectionFacts,
  endpoint: string,
  daemons: DaemonFacts | undefined,
): Pick<Finding, 'code' | 'message' | 'remedy' | 'process'> {
  const [unit = 'containerd', ...others] = unitsOfRuntime(endpoint);
  const units = [unit, ...others].join(', or ');
  const say = (
    name: FindingCode,
    message: string,
    remedy: string,
  ): Pick<Finding, 'code' | 'message' | 'remedy'> => ({
    ...{ code: name, message, remedy },
  });
  switch (code) {
    case 'ENDPOINT_NOT_FOUND':
      return say(
        'RuntimeSocketMissing',
        `there is no runtime at ${endpoint}: its socket is missing`,
        `Start the runtime (systemctl start ${units}), which interrupts no pod, or name its socket with --runtime-endpoint.`,
      );
    case 'ENDPOINT_PERMISSION_DENIED':
      return say(
        'RuntimeForbidden',
        `this user may not open ${endpoint}, so nothing is known of the runtime`,
        'Run podloop doctor as root, as with sudo.',
      );
    case 'CRI_DEADLINE_EXCEEDED':
      return {
        ...say(
          'RuntimeHung',
          `the runtime at ${endpoint}${daemons?.runtime === undefined ? '' : ` (pid ${daemons.runtime.pid})`} takes connections and answers nothing`,
          howToUnlock(daemons),
        ),
        ...processOf(daemons),
      };
    case 'ENDPOINT_NOT_CRI':
    case 'ENDPOINT_NO_CRI_V1':
      // Whoever hangs up before a word may be a runtime that is just ending.
      if (/hangs up/.test(error)) break;
      return say(
        'RuntimeNotCri',
        `what listens at ${endpoint} does not serve CRI v1`,
        'Name the runtime’s own socket, and see that its CRI plugin is on (containerd: "cri" not in disabled_plugins).',
      );
  }
  if (STARTING.test(error))
    return say(
      'RuntimeNotRunning',
      `the runtime at ${endpoint} is starting: it loads its pods and answers nothing yet`,
      `Wait: it takes up to ten seconds for each shim that does not answer, and its log says how far it is (journalctl -u ${unit}). A restart only begins again.`,
    );
  return say(
    'RuntimeNotRunning',
    `nobody answers at ${endpoint}: the runtime is not running`,
    `Start it (systemctl start ${units}), which interrupts no pod, and see its log for why it ended: journalctl -u ${unit}.`,
  );
}
