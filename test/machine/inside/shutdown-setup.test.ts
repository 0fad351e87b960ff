/**
 * Makes a machine a node whose pods write down when they start, are asked to end and have ended, with others that keep it busy. Runs as
 * root in a machine of `npm run test:machine`, before that is shut down; see test/machine/power/shutdowns.ts.
 *
 * @module
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { it } from 'vitest';
import { CRITICAL, MARKS_FILE, ORDINARY, parseMarks, startedPods } from '../power/shutdown-marks.js';
import { shell, untilPrints } from './node-shell.js';
import { MANIFESTS, startUnits } from './unit-under-test.js';

const DROP_IN = '/etc/systemd/system/podloop.service.d/60-shutdowns.conf';
const RUN =
  '/usr/bin/env podloop run /etc/podloop/manifests --root-dir /var/lib/podloop --runtime-endpoint embedded';
/** Far more than pods need: an emulated machine is slow. */
const FLAGS = '--shutdown-grace-period 1h --shutdown-grace-period-critical-pods 20m';
const BUSY = ['busy-0', 'busy-1'];

const script = (name: string): string =>
  [
    `mark() { echo "$(cut -c 1-8 /proc/sys/kernel/random/boot_id) ${name} $1" >> /marks/log; sync /marks/log; }`,
    'trap "mark term; sleep 5; mark end; exit 0" TERM; mark start; while :; do sleep 1; done',
  ].join('\n');
const pod = (name: string, command: string, more: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 900
${more}
  volumes: [{ name: marks, hostPath: { path: ${dirname(MARKS_FILE)}, type: DirectoryOrCreate } }]
  containers:
    - name: main
      image: podloop.local/host
      command: [sh, -c, ${JSON.stringify(command)}]
      resources: { limits: { cpu: 200m } }
      volumeMounts: [{ name: marks, mountPath: /marks }]
`;

it('the agent comes with every boot, and has its pods', async () => {
  await mkdir(dirname(MARKS_FILE), { recursive: true });
  await startUnits('agent');
  await writeFile(DROP_IN, `[Service]\nExecStart=\nExecStart=${RUN} ${FLAGS}\n`);
  await shell('systemctl daemon-reload; systemctl enable podloop; systemctl restart podloop');
  const put = async (name: string, text: string): Promise<void> =>
    writeFile(join(MANIFESTS, `${name}.yaml`), text);
  for (const name of ORDINARY) await put(name, pod(name, script(name), ''));
  await put(CRITICAL, pod(CRITICAL, script(CRITICAL), '  priorityClassName: system-node-critical'));
  for (const name of BUSY) await put(name, pod(name, 'trap "exit 0" TERM; while :; do :; done', ''));
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'latin1')).slice(0, 8);
  await untilPrints(
    `cat ${MARKS_FILE}`,
    (text) => startedPods(parseMarks(text, boot)).size === ORDINARY.length + 1,
  );
  await untilPrints('systemd-inhibit --list --no-legend --no-pager', /podloop .*shutdown .*delay/);
});
