import { NOT_RECORDED } from '#base/channels/recording-words.js';
import { describe, expect, it } from 'vitest';
import { type PlegReport } from '#kube/node/pleg-report.js';
import {
  aNode,
  someInspections,
  anOperation,
  anAgentReport,
  aPopulation,
  aSlowPod,
  type NodeFactsChanges,
} from '#support/builders/node-facts-builder.js';
import { type MeasuredCall } from './facts/call-meter.js';
import { diagnose, exitCodeOf } from './diagnose.js';
import { type WaitingPod } from './facts/kubelet-facts.js';
import { type FindingCode } from './finding-codes.js';
import { type Daemon, type RuntimeWork } from './host/host-facts.js';
import { summarizeKernelLog } from './host/kernel-log.js';
import { known, notKnown } from './looked.js';
import { type RunningPlugin } from './facts/machine-facts.js';

const WEB = { uid: 'uid-web', namespace: 'default', name: 'web' };
const SANDBOX = 'b'.repeat(64);
const DAY_MS = 24 * 3_600_000;
const NOW = aNode().atMs;

const hung = (name: string, method = 'PodSandboxStatus'): MeasuredCall => ({
  ...{ method, pod: { uid: `uid-${name}`, namespace: 'default', name }, ms: 10_000, outcome: 'hung' },
  error: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  code: 'CRI_DEADLINE_EXCEEDED',
});
const failed = (code: string, error: string): NodeFactsChanges => ({
  runtime: {
    connection: { connected: false, attempts: 13, failures: 13, watchedMs: 3_000, code, error },
    ...{ name: '', version: '', operations: [], lists: [], conditions: notKnown('not reached') },
    ...{ population: notKnown('not reached'), inspections: notKnown('not reached') },
    events: notKnown('not reached'),
  },
});
const inspected = (changes: Parameters<typeof someInspections>[0]): NodeFactsChanges => ({
  runtime: { inspections: known(someInspections(changes)) },
});
const populated = (changes: Parameters<typeof aPopulation>[0]): NodeFactsChanges => ({
  runtime: { population: known(aPopulation(changes)) },
});
const operating = (...operations: ReturnType<typeof anOperation>[]): NodeFactsChanges => ({
  runtime: { operations: [...operations, anOperation('Status')] },
});
const machine = aNode().machine;
const QUIET = { someAvg10: 0, someAvg60: 0, fullAvg10: 0, fullAvg60: 0 };
const pressed = (name: 'cpu' | 'io' | 'memory', changes: Partial<typeof QUIET>): NodeFactsChanges => ({
  machine: { pressure: known({ cpu: QUIET, io: QUIET, memory: QUIET, [name]: { ...QUIET, ...changes } }) },
});
const processes = (machine.processes as { value: object }).value as never as Record<string, unknown>;
const running = (changes: object): NodeFactsChanges => ({
  machine: { processes: known({ ...processes, ...changes } as never) },
});
const plugged = (...running: readonly RunningPlugin[]): NodeFactsChanges => ({
  machine: { plugins: known({ running, count: running.length }) },
});
const CALL = {
  ...{ pid: 30, command: 'runc', state: 'S', waitsIn: 'do_wait', operation: 'create' },
  ...{ containerId: 'c'.repeat(64), forMs: 1_000, pod: WEB, container: 'app' },
};
const WAITING: WaitingPod = {
  ...{ pod: WEB, container: 'app', reason: 'ContainerCreating', message: '' },
  ...{ forMs: 40_000, hasSandbox: false },
};
const DAEMON: Daemon = { pid: 40, command: 'containerd', state: 'S', waitsIn: '', forMs: 9_000 };
const daemons = (runtime: Partial<Daemon>): NodeFactsChanges => ({
  machine: { daemons: known({ runtime: { ...DAEMON, ...runtime } }) },
});
const SHIM = {
  pid: 20,
  command: 'containerd-shim',
  state: 'T',
  waitsIn: '',
  sandboxId: SANDBOX,
  pod: WEB,
  helpers: [],
};
const working = (changes: Partial<RuntimeWork>): NodeFactsChanges => ({
  machine: {
    runtimeWork: known({
      calls: [],
      callCount: 0,
      endedCalls: [],
      endedCallCount: 0,
      illShims: [],
      illShimCount: 0,
      asked: 1,
      ...changes,
    }),
  },
});
/** A line of the kernel's log, of five seconds ago. */
const logged = (text: string): NodeFactsChanges => ({
  machine: { kernelLog: known(summarizeKernelLog([`4,1,15000000,-;${text}\n`], 20_000)) },
});
const certified = (leftMs: number, lifeMs = 365 * DAY_MS): NodeFactsChanges => ({
  rest: {
    certificates: [
      {
        path: '/pki/kubelet-client-current.pem',
        subject: 'CN=node',
        fromMs: NOW + leftMs - lifeMs,
        toMs: NOW + leftMs,
      },
    ],
  },
});
const measured = (changes: object, waiting: readonly WaitingPod[] = []): NodeFactsChanges => ({
  rest: {
    kubelet: {
      health: notKnown('not asked'),
      waiting: known(waiting),
      metrics: known({
        ...{
          url: 'http://127.0.0.1:10255/metrics',
          relists: 3,
          isRecent: true,
          eventsDiscarded: 0,
          eventsDiscardedLately: 0,
          sandboxErrors: 0,
          sandboxErrorsLately: 0,
          isEvented: false,
        },
        ...{ operations: [], lastSeenAgoMs: 900, relistP99Ms: 20, ...changes },
      }),
    },
  },
});
const agent = anAgentReport();
const reported = (changes: Partial<PlegReport>): NodeFactsChanges => ({
  rest: { agent: known({ ...agent, ...changes }) },
});

interface Case {
  readonly when: string;
  readonly node: NodeFactsChanges;
  readonly finds: FindingCode;
  readonly severity: 'critical' | 'warning' | 'info';
  /** What it has to say somewhere. */
  readonly says: RegExp;
}

const CRI_DOCKERD: Daemon = { pid: 44, command: 'cri-dockerd', state: 'S', waitsIn: '', forMs: 9_000 };
// prettier-ignore
const CASES: readonly Case[] = [
  { when: 'the socket is missing', node: failed('ENDPOINT_NOT_FOUND', 'there is no socket'), finds: 'RuntimeSocketMissing', severity: 'critical', says: /containerd\.sock/ },
  { when: 'the connection is refused', node: failed('CRI_UNAVAILABLE', 'nobody listens'), finds: 'RuntimeNotRunning', severity: 'critical', says: /not running/ },
  { when: 'every connection is cut', node: failed('ENDPOINT_NOT_CRI', 'it hangs up without a word'), finds: 'RuntimeNotRunning', severity: 'critical', says: /not running/ },
  { when: 'a mute program listens', node: failed('CRI_DEADLINE_EXCEEDED', 'no greeting'), finds: 'RuntimeHung', severity: 'critical', says: /answers nothing/ },
  { when: 'another server listens', node: failed('ENDPOINT_NOT_CRI', 'it speaks HTTP/1'), finds: 'RuntimeNotCri', severity: 'critical', says: /CRI v1/ },
  { when: 'the socket is not ours to open', node: failed('ENDPOINT_PERMISSION_DENIED', 'EACCES'), finds: 'RuntimeForbidden', severity: 'critical', says: /sudo/ },
  { when: 'the runtime comes and goes', node: { runtime: { connection: { connected: true, attempts: 16, failures: 5, watchedMs: 3_000, error: 'gone' } } }, finds: 'RuntimeFlapping', severity: 'critical', says: /5 of 16/ },
  { when: 'nothing is answered', node: operating(anOperation('Version', { count: 2, hung: 2, maxMs: 10_000 }), anOperation('ListContainers', { count: 1, hung: 1 })), finds: 'RuntimeHung', severity: 'critical', says: /not even Version/ },
  { when: 'nothing is answered by a runtime that is found', node: { ...operating(anOperation('Version', { count: 2, hung: 2, maxMs: 10_000 })), machine: { daemons: known({ runtime: CRI_DOCKERD }) } }, finds: 'RuntimeHung', severity: 'critical', says: /cri-dockerd, pid 44[^]*kill -USR1 44 [^]*only with live-restore/ },
  { when: 'lists hang', node: operating(anOperation('Version'), anOperation('ListContainers', { count: 1, hung: 1, maxMs: 10_000 })), finds: 'ListHangs', severity: 'critical', says: /ListContainers: 1 not answered within 10s/ },
  { when: 'Status hangs', node: operating(anOperation('Version'), anOperation('Status', { count: 1, hung: 1 })), finds: 'CallHangs', severity: 'critical', says: /Status is not answered/ },
  { when: 'a list fails', node: operating(anOperation('ListContainers', { count: 3, failed: 3, lastError: 'rpc error: locked', lastCode: 'CRI_INTERNAL' })), finds: 'CallFails', severity: 'critical', says: /rpc error: locked/ },
  { when: 'every call is slow', node: operating(anOperation('Version', { p50Ms: 600 })), finds: 'RuntimeSlow', severity: 'warning', says: /even Version takes 600ms/ },
  { when: 'every call is very slow', node: operating(anOperation('Version', { p50Ms: 4_000 })), finds: 'RuntimeSlow', severity: 'critical', says: /4s/ },
  { when: 'a list is refused for its size', node: { runtime: { lists: [{ method: 'ListContainers', calls: 3, hung: 0, p50Ms: 0, code: 'CRI_RESOURCE_EXHAUSTED', error: 'larger than max' }] } }, finds: 'ListTooLarge', severity: 'critical', says: /larger than the 16MiB/ },
  { when: 'a list is too large for others', node: { runtime: { lists: [{ method: 'ListContainers', calls: 3, hung: 0, p50Ms: 90, bytes: 17 * 1024 ** 2, items: 12_000 }] } }, finds: 'ListTooLarge', severity: 'critical', says: /17MiB for 12000 items/ },
  { when: 'a list is nearly too large', node: { runtime: { lists: [{ method: 'ListContainers', calls: 3, hung: 0, p50Ms: 90, bytes: 13 * 1024 ** 2, items: 9_000, largest: [{ pod: WEB, bytes: 9 * 1024 ** 2, items: 40 }] }] } }, finds: 'ListTooLarge', severity: 'warning', says: /near the 16MiB.*pod default\/web: 9MiB for 40 items/s },
  { when: 'a list is slow', node: { runtime: { lists: [{ method: 'ListPodSandbox', calls: 3, hung: 0, p50Ms: 1_500, bytes: 9, items: 20 }] } }, finds: 'ListSlow', severity: 'warning', says: /ListPodSandbox takes 1\.5s for 20 items/ },
  { when: 'status calls are slow', node: inspected({ medianMs: 400 }), finds: 'StatusSlow', severity: 'warning', says: /400ms each/ },
  { when: 'status calls are very slow', node: inspected({ medianMs: 3_000 }), finds: 'StatusSlow', severity: 'critical', says: /3s each/ },
  { when: 'slow status calls add up to more than a kubelet stands', node: inspected({ medianMs: 600, inSeriesMs: 240_000 }), finds: 'StatusSlow', severity: 'critical', says: /one by one.* takes 4m0s, longer than its threshold/ },
  { when: 'every call is slow, and calls add up', node: { runtime: { operations: [anOperation('Version', { p50Ms: 600 })], inspections: known(someInspections({ medianMs: 600, inSeriesMs: 240_000 })) } }, finds: 'RuntimeSlow', severity: 'critical', says: /takes 4m0s/ },
  { when: 'a pod hangs', node: inspected({ hung: [hung('web'), hung('web', 'ContainerStatus')] }), finds: 'PodHung', severity: 'critical', says: /pod default\/web: PodSandboxStatus hangs/ },
  { when: 'many pods hang', node: inspected({ hung: ['a', 'b', 'c', 'd'].map((name) => hung(name)) }), finds: 'PodsHung', severity: 'critical', says: /4 pods: default\/a, default\/b/ },
  { when: 'the status of a pod fails', node: inspected({ failing: [{ ...hung('web'), outcome: 'failed', code: 'CRI_UNKNOWN', error: 'task gone' }] }), finds: 'PodStatusFails', severity: 'warning', says: /task gone/ },
  { when: 'one pod is slow', node: inspected({ slowest: [aSlowPod('web', 6_000), aSlowPod('db', 12)] }), finds: 'PodSlow', severity: 'warning', says: /default\/web takes far longer.*ContainerStatus of container app takes 6s/ },
  { when: 'one container of a large pod is slow', node: inspected({ slowest: [{ ...aSlowPod('web', 4_000), ms: 4_090, calls: 31 }] }), finds: 'PodSlow', severity: 'warning', says: /default\/web.*4s; 4\.1s in 31 calls/ },
  { when: 'there are too many containers', node: inspected({ medianMs: 108, inSeriesMs: 83_000 }), finds: 'TooManyContainers', severity: 'warning', says: /100 pods with 260 containers .* 1m23s/ },
  { when: 'there are far too many containers', node: inspected({ medianMs: 108, inSeriesMs: 240_000 }), finds: 'TooManyContainers', severity: 'critical', says: /threshold of 3m0s/ },
  { when: 'dead containers are kept', node: populated({ containersByState: { running: 250, exited: 3_000 } }), finds: 'DeadContainers', severity: 'warning', says: /3000/ },
  { when: 'dead sandboxes are kept', node: populated({ sandboxesNotReady: 150 }), finds: 'DeadSandboxes', severity: 'warning', says: /150/ },
  { when: 'a sandbox is made again and again', node: populated({ sandboxStorms: [{ pod: WEB, attempt: 12, made: 4 }] }), finds: 'SandboxStorm', severity: 'warning', says: /default\/web: attempt 12; 4 sandboxes/ },
  { when: 'many containers crash', node: populated({ crashLoops: [{ pod: WEB, container: 'app', attempt: 9 }], crashLoopCount: 14 }), finds: 'CrashLoops', severity: 'warning', says: /14 containers/ },
  { when: 'the network is not ready', node: { runtime: { conditions: known([{ type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' }]) } }, finds: 'NetworkNotReady', severity: 'critical', says: /cni plugin not initialized/ },
  { when: 'the runtime is not ready', node: { runtime: { conditions: known([{ type: 'RuntimeReady', status: false, reason: '', message: 'starting' }]) } }, finds: 'RuntimeNotReady', severity: 'critical', says: /starting/ },
  { when: 'events are lost', node: { runtime: { events: known({ isSupported: true, watchedMs: 3_000, received: 1, changed: 4, missed: [{ pod: WEB, container: 'app', id: 'c1' }], missedCount: 3 }) } }, finds: 'EventsLost', severity: 'warning', says: /3 of 4 changes/ },
  { when: 'the event stream breaks', node: { runtime: { events: known({ isSupported: true, watchedMs: 300, received: 0, changed: 0, missed: [], missedCount: 0, ended: 'EOF' }) } }, finds: 'EventStreamBreaks', severity: 'warning', says: /EOF/ },
  { when: 'disks hold everything up', node: pressed('io', { fullAvg10: 71.5 }), finds: 'IoPressure', severity: 'critical', says: /71\.5% of the time/ },
  { when: 'disks hold much up', node: pressed('io', { fullAvg60: 30 }), finds: 'IoPressure', severity: 'warning', says: /pressure\/io/ },
  { when: 'memory is short', node: pressed('memory', { fullAvg10: 50 }), finds: 'MemoryPressure', severity: 'critical', says: /50%/ },
  { when: 'the CPU is short', node: pressed('cpu', { someAvg60: 92 }), finds: 'CpuPressure', severity: 'warning', says: /92%/ },
  { when: 'the disk is slow', node: { machine: { fsync: known({ path: '/var/lib/containerd', writes: 5, medianMs: 900, maxMs: 4_000 }) } }, finds: 'DiskSlow', severity: 'warning', says: /900ms/ },
  { when: 'hardly any memory is left', node: { machine: { memory: known({ totalBytes: 2 ** 35, availableBytes: 2 ** 26 }) } }, finds: 'MemoryLow', severity: 'critical', says: /64MiB/ },
  { when: 'a single write takes seconds', node: { machine: { fsync: known({ path: '/var/lib/containerd', writes: 5, medianMs: 9, maxMs: 4_000 }) } }, finds: 'DiskSlow', severity: 'warning', says: /takes 4s to arrive/ },
  { when: 'a write never arrives', node: { machine: { fsync: known({ path: '/var/lib/containerd', writes: 2, medianMs: 9, maxMs: 11, hungMs: 30_000 }) } }, finds: 'DiskSlow', severity: 'critical', says: /not arrived .* after 30s/ },
  { when: 'a disk does not answer', node: { machine: { silentDisks: [{ path: '/var/lib/kubelet', purpose: 'the kubelet’s folder', forMs: 5_000 }] } }, finds: 'DiskHangs', severity: 'critical', says: /\/var\/lib\/kubelet .* does not answer/ },
  { when: 'images have less room than Kubernetes wants', node: { machine: { disks: [{ ...machine.disks[0]!, availableBytes: 14 * 1024 ** 3 }] } }, finds: 'DiskFull', severity: 'warning', says: /14% left/ },
  { when: 'a disk is nearly full', node: { machine: { disks: [{ ...machine.disks[0]!, availableBytes: 5 * 1024 ** 3 }] } }, finds: 'DiskFull', severity: 'warning', says: /5% left/ },
  { when: 'a disk is full', node: { machine: { disks: [{ ...machine.disks[0]!, availableBytes: 0 }] } }, finds: 'DiskFull', severity: 'critical', says: /0% left/ },
  { when: 'inodes are used up', node: { machine: { disks: [{ ...machine.disks[0]!, freeInodes: 5_000 }] } }, finds: 'InodesUsedUp', severity: 'critical', says: /0\.5% of its inodes/ },
  { when: 'process ids are used up', node: running({ threads: 245_000 }), finds: 'PidsUsedUp', severity: 'critical', says: /98%/ },
  { when: 'tasks hang in the kernel', node: running({ blocked: [{ pid: 7, command: 'umount', waitsIn: 'rpc_wait_bit_killable' }], blockedCount: 1 }), finds: 'TasksBlocked', severity: 'warning', says: /rpc_wait_bit_killable/ },
  { when: 'zombies pile up', node: running({ zombies: 400, zombieParents: [{ pid: 9, command: 'app', zombies: 399 }] }), finds: 'Zombies', severity: 'warning', says: /399 of app \(9\)/ },
  { when: 'the disk of the images is read-only', node: { machine: { disks: [{ ...machine.disks[0]!, isReadOnly: true }] } }, finds: 'DiskReadOnly', severity: 'critical', says: /nothing can be written to the disk of \/var\/lib\/containerd/ },
  { when: 'the kernel has closed a file system of a pod', node: { machine: { failedFileSystems: known([{ path: '/data', device: '8:16', fsType: 'ext4', source: '/dev/sdb', pods: [WEB] }]) } }, finds: 'DiskReadOnly', severity: 'critical', says: /the kernel has made \/data of default\/web read-only after an error/ },
  { when: 'the kernel has closed the file system of the images', node: { machine: { disks: [{ ...machine.disks[0]!, isReadOnly: true }], failedFileSystems: known([{ path: '/var', device: '8:1', fsType: 'xfs', source: '/dev/sda1', pods: [WEB] }]) } }, finds: 'DiskReadOnly', severity: 'critical', says: /the kernel has made \/var \(images and containers\) read-only after an error/ },
  { when: 'the kernel has closed a file system that nobody needs', node: { machine: { failedFileSystems: known([{ path: '/backup', device: '8:16', fsType: 'ext4', source: '/dev/sdb', pods: [] }]) } }, finds: 'DiskReadOnly', severity: 'warning', says: /\/backup read-only/ },
  { when: 'the runtime’s state cannot be written', node: { machine: { disks: [machine.disks[0]!, { ...machine.disks[0]!, path: '/run', purpose: 'sockets and state', device: '0:9', holdsImages: false, isReadOnly: true }] } }, finds: 'DiskReadOnly', severity: 'critical', says: /the disk of \/run \(sockets and state\)/ },
  { when: 'a mount does not answer', node: { machine: { deadMounts: known([{ path: '/data', fsType: 'nfs4', source: 'files:/x', silentForMs: 5_000, pods: [WEB], servers: [] }]) } }, finds: 'MountHangs', severity: 'critical', says: /\/data \(nfs4\) of default\/web/ },
  { when: 'a CPU is stuck', node: logged('watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [a:1]'), finds: 'KernelLockup', severity: 'critical', says: /kernel: watchdog: BUG: soft lockup/ },
  { when: 'the kernel’s log has a hung task', node: logged('INFO: task runc:12 blocked for more than 122 seconds.'), finds: 'KernelTasksHung', severity: 'warning', says: /runc:12 \(5s ago/ },
  { when: 'a network device is not released', node: logged('unregister_netdevice: waiting for lo to become free. Usage count = 1'), finds: 'KernelTrouble', severity: 'warning', says: /cannot release a network device: lo/ },
  { when: 'a disk has errors', node: logged('I/O error, dev sda, sector 1 op 0x0:(READ)'), finds: 'DiskErrors', severity: 'warning', says: /the disk has errors: sda/ },
  { when: 'the machine has no memory left', node: logged('Out of memory: Killed process 7 (java) total-vm:1kB'), finds: 'OutOfMemory', severity: 'warning', says: /killed java \(pid 7\).*the machine had none left/ },
  { when: 'a task has hung in the kernel for a while', node: running({ blocked: [{ pid: 7, command: 'umount', waitsIn: 'rpc_wait', stillForMs: 600_000 }], blockedCount: 1 }), finds: 'TasksBlocked', severity: 'warning', says: /state D, has not run for 10m0s, in rpc_wait/ },
  { when: 'one task of a pod hangs in the kernel', node: running({ blocked: [{ pid: 7, command: 'ls', pod: WEB, container: 'app', waitsIn: 'wait_for_vfork' }], blockedCount: 1 }), finds: 'TasksBlocked', severity: 'warning', says: /ls \(7 of container app of pod default\/web\)/ },
  { when: 'no sandbox is made', node: measured({ sandboxErrors: 123, podsWanted: 30, podsRunning: 0 }, [WAITING]), finds: 'SandboxesFail', severity: 'critical', says: /123 calls of run_podsandbox.*30 pods wanted, 0 run/s },
  { when: 'a pod has no image', node: measured({}, [{ ...WAITING, hasSandbox: true, reason: 'ImagePullBackOff', message: 'Back-off pulling image' }]), finds: 'PodsWait', severity: 'info', says: /default\/web, container app: ImagePullBackOff for 40s: Back-off/ },
  { when: 'the runtime is stopped', node: daemons({ state: 'T' }), finds: 'RuntimeStopped', severity: 'critical', says: /containerd \(pid 40\) is stopped/ },
  { when: 'the runtime has been stopped for a while', node: daemons({ state: 'T', stillForMs: 90_000 }), finds: 'RuntimeStopped', severity: 'critical', says: /state T, has not run for 1m30s/ },
  { when: 'the runtime is frozen', node: daemons({ frozenCgroup: '/sys/fs/cgroup/freezer/ice' }), finds: 'RuntimeStopped', severity: 'critical', says: /is frozen with its cgroup/ },
  { when: 'the kubelet is stopped', node: { machine: { daemons: known({ kubelet: { ...DAEMON, command: 'kubelet', state: 'T' } }) } }, finds: 'KubeletStopped', severity: 'critical', says: /kubelet \(pid 40\)/ },
  { when: 'the kubelet does not answer', node: { rest: { kubelet: { health: known({ url: 'u', healthy: false, words: '', silentForMs: 5_000 }), metrics: notKnown('silent'), waiting: notKnown('silent') } } }, finds: 'KubeletHung', severity: 'critical', says: /takes connections/ },
  { when: 'no kubelet runs', node: { machine: { daemons: known({ kubeletConfigured: '/etc/kubernetes/kubelet.conf' }) } }, finds: 'KubeletNotRunning', severity: 'warning', says: /kubelet\.conf/ },
  { when: 'a unit does not stay up', node: { machine: { systemd: known({ units: [{ name: 'kubelet.service', activeState: 'failed', subState: 'failed', result: 'exit-code', exitStatus: 1, restarts: 5, forMs: 9_000 }] }) } }, finds: 'UnitFails', severity: 'critical', says: /kubelet\.service does not stay up.*5 times.*exit status 1/ },
  { when: 'systemd does not answer', node: { machine: { systemd: known({ units: [], silentForMs: 5_000 }) } }, finds: 'SystemdHangs', severity: 'warning', says: /no answer of systemctl/ },
  { when: 'no instance of inotify is left', node: { machine: { inotify: known({ instances: 128, watches: 65_536, usedUp: 'instances' }) } }, finds: 'InotifyUsedUp', severity: 'warning', says: /all 128 instances[^]*sysctl -w fs\.inotify\.max_user_instances=1024/ },
  { when: 'no watch of inotify is left', node: { machine: { inotify: known({ instances: 128, watches: 65_536, usedUp: 'watches' }) } }, finds: 'InotifyUsedUp', severity: 'warning', says: /max_user_watches=524288/ },
  { when: 'the runtime has nearly all its files open', node: daemons({ openFiles: { used: 352, limit: 354 } }), finds: 'FilesUsedUp', severity: 'critical', says: /352 of the 354 files/ },
  { when: 'the runtime has nearly all its tasks', node: daemons({ tasks: { used: 93, limit: 100, cgroup: '/system.slice/containerd.service' } }), finds: 'TasksUsedUp', severity: 'warning', says: /93 of the 100 tasks/ },
  { when: 'the runtime has nearly all its memory', node: daemons({ memory: { used: 2 ** 30, limit: 2 ** 30, cgroup: '/system.slice' } }), finds: 'MemoryUsedUp', severity: 'critical', says: /1GiB of the 1GiB/ },
  { when: 'the runtime’s cgroup has refused a task', node: daemons({ tasks: { used: 50, limit: 100, cgroup: '/x' }, refusedTasks: 1 }), finds: 'TasksUsedUp', severity: 'critical', says: /refused 1 task while this ran[^]*set-property containerd Tasks/ },
  { when: 'a process was killed in the runtime’s cgroup', node: daemons({ unit: 'k3s', memory: { used: 50, limit: 100, cgroup: '/system.slice' }, oomKills: 2 }), finds: 'MemoryUsedUp', severity: 'critical', says: /the limit of \/system\.slice\n.*killed 2 processes[^]*restart k3s/ },
  { when: 'the runtime has no CPU time left', node: daemons({ cpuPeriods: { used: 20, limit: 30 } }), finds: 'CpuThrottled', severity: 'warning', says: /20 of 30 periods/ },
  { when: 'a shim has all its files open', node: working({ shimFiles: [{ pid: 20, command: 'containerd-shim', pod: WEB, openFiles: { used: 64, limit: 64 } }, { pid: 21, command: 'containerd-shim', openFiles: { used: 20, limit: 1_024 } }] }), finds: 'FilesUsedUp', severity: 'warning', says: /shim of pod default\/web \(pid 20\) has 64 of the 64 files[^]*prlimit --pid 20/ },
  { when: 'a shim has no room for the files of an exec', node: working({ shimFiles: [{ pid: 20, command: 'containerd-shim', pod: WEB, openFiles: { used: 8, limit: 10 } }] }), finds: 'FilesUsedUp', severity: 'warning', says: /8 of the 10 files/ },
  { when: 'a shim is stopped', node: working({ illShims: [{ ...SHIM, illness: 'stopped' }], illShimCount: 1 }), finds: 'ShimStopped', severity: 'critical', says: /pod default\/web \(pid 20\) is stopped/ },
  { when: 'a shim does not answer', node: working({ illShims: [{ ...SHIM, illness: 'silent', silentForMs: 5_000 }], illShimCount: 1 }), finds: 'ShimHangs', severity: 'critical', says: /does not answer/ },
  { when: 'a call of runc does not end', node: working({ calls: [{ ...CALL, forMs: 75_000 }], callCount: 1 }), finds: 'OciRuntimeHangs', severity: 'critical', says: /runc create of container app of pod default\/web has run for 1m15s/ },
  { when: 'runc is slow', node: working({ calls: ['a', 'b', 'c'].map((name) => ({ ...CALL, pod: { ...WEB, name }, forMs: 4_000 })), callCount: 3 }), finds: 'OciRuntimeSlow', severity: 'warning', says: /3 of the 3 calls seen/ },
  { when: 'a shim is nobody’s', node: { machine: { shims: known({ count: 5, orphans: [{ pid: 44, command: 'containerd-shim', sandboxId: SANDBOX, pod: WEB }], orphanCount: 1, gone: [], goneCount: 0 }) } }, finds: 'OrphanShims', severity: 'warning', says: /pid 44 \(pod default\/web\)/ },
  { when: 'a shim is gone', node: { machine: { shims: known({ count: 5, orphans: [], orphanCount: 0, gone: [{ sandboxId: SANDBOX, pod: WEB }], goneCount: 1 }) } }, finds: 'ShimsGone', severity: 'warning', says: /default\/web/ },
  { when: 'shims are left without a runtime', node: { machine: { abandonedShims: known({ count: 12, shims: [{ pid: 44, command: 'containerd-shim', sandboxId: SANDBOX }], addresses: ['/run/old.sock'] }) } }, finds: 'ShimsAbandoned', severity: 'warning', says: /12 shims run without .* pid 44 and 11 more[^]*nobody listens at \/run\/old\.sock/ },
  { when: 'a network plugin hangs', node: plugged({ pid: 44, command: 'calico', operation: 'ADD', sandboxId: SANDBOX, pod: WEB, forMs: 90_000 }), finds: 'SandboxHangs', severity: 'warning', says: /default\/web has not been set up for 1m30s[^]*pid 44 calico: CNI ADD/ },
  { when: 'a network plugin hangs for minutes', node: plugged({ pid: 44, command: 'calico', operation: 'DEL', sandboxId: SANDBOX, forMs: 200_000 }), finds: 'SandboxHangs', severity: 'critical', says: /a pod has not been taken down for 3m20s/ },
  { when: 'the agent waits for a sandbox', node: reported({ callsInFlight: [{ method: 'RunPodSandbox', operation: 'run_podsandbox', pod: WEB, startedAtMs: 1, ageMs: 65_000 }] }), finds: 'SandboxHangs', severity: 'warning', says: /default\/web has not been set up for 1m5s: its network \(CNI\) hangs/ },
  { when: 'a certificate has expired', node: certified(-3 * DAY_MS), finds: 'CertificateExpired', severity: 'critical', says: /expired 3 days ago/ },
  { when: 'a certificate expired two hours ago', node: certified(-2.5 * DAY_MS / 24), finds: 'CertificateExpired', severity: 'critical', says: /expired 2 hours ago/ },
  { when: 'a certificate expired just now', node: certified(-1), finds: 'CertificateExpired', severity: 'critical', says: /expired 0 minutes ago/ },
  { when: 'a certificate expires soon', node: certified(5 * DAY_MS), finds: 'CertificateExpires', severity: 'warning', says: /in 5 days/ },
  { when: 'the kubelet says it is not healthy', node: { rest: { kubelet: { health: known({ url: 'http://h/healthz', healthy: false, words: '[-]pleg failed: PLEG is not healthy' }), metrics: notKnown(''), waiting: notKnown('silent') } } }, finds: 'KubeletUnhealthy', severity: 'critical', says: /PLEG is not healthy/ },
  { when: 'the kubelet has not looked for long', node: measured({ lastSeenAgoMs: 200_000 }), finds: 'KubeletRelistStuck', severity: 'critical', says: /3m20s/ },
  { when: 'an evented kubelet has not looked for long', node: measured({ isEvented: true, lastSeenAgoMs: 400_000 }), finds: 'KubeletRelistStuck', severity: 'warning', says: /after 10m0s/ },
  { when: 'the kubelet’s relists take longer than its histogram goes', node: measured({ relistP99Ms: 10_000 }), finds: 'KubeletRelistSlow', severity: 'critical', says: /10s or more/ },
  { when: 'the kubelet’s relists are slow', node: measured({ relistP99Ms: 7_000 }), finds: 'KubeletRelistSlow', severity: 'warning', says: /7s/ },
  { when: 'the kubelet discards events', node: measured({ eventsDiscarded: 12, eventsDiscardedLately: 3 }), finds: 'KubeletEventsDiscarded', severity: 'warning', says: /12 events/ },
  { when: 'the kubelet’s calls are slow', node: measured({ operations: [{ operation: 'container_status', count: 90, errors: 2, p99Ms: 9_000, isRecent: true }] }), finds: 'KubeletCallsSlow', severity: 'warning', says: /container_status took 9s/ },
  { when: 'the agent is not healthy', node: reported({ health: { healthy: false, thresholdMs: 180_000, message: 'pleg was last seen active 3m5s ago; threshold is 3m0s' } }), finds: 'AgentUnhealthy', severity: 'critical', says: /3m5s/ },
  { when: 'a pod of the agent is stuck', node: reported({ stuckPods: [{ pod: WEB, state: 'hung', sinceMs: 1, forMs: 65_000, failures: 2 }], stuckPodCount: 1 }), finds: 'AgentPodStuck', severity: 'warning', says: /default\/web for 1m5s/ },
  { when: 'a stuck pod of the agent has a call in flight', node: reported({ stuckPods: [{ pod: WEB, state: 'hung', sinceMs: 1, forMs: 65_000, failures: 2 }], stuckPodCount: 1, callsInFlight: [{ method: 'ContainerStatus', operation: 'container_status', pod: WEB, containerId: 'c'.repeat(64), startedAtMs: 1, ageMs: 42_000 }] }), finds: 'AgentPodStuck', severity: 'warning', says: /ContainerStatus hangs[^]*ContainerStatus: not answered for 42s/ },
  { when: 'images are locked', node: operating(anOperation('Version'), anOperation('ListImages', { count: 1, hung: 1 })), finds: 'CallHangs', severity: 'critical', says: /ListImages is not answered while pods are listed/ },
  { when: 'a call of the agent hangs', node: reported({ callsInFlight: [{ method: 'ContainerStatus', operation: 'container_status', pod: WEB, startedAtMs: 1, ageMs: 42_000 }] }), finds: 'AgentCallHangs', severity: 'warning', says: /ContainerStatus of pod default\/web .* 42s/ },
  { when: 'a list of the agent hangs behind a long pull', node: reported({ callsInFlight: [{ method: 'PullImage', operation: 'pull_image', startedAtMs: 1, ageMs: 90_000 }, { method: 'ListContainers', operation: 'list_containers', startedAtMs: 1, ageMs: 42_000 }] }), finds: 'AgentCallHangs', severity: 'warning', says: /ListContainers of podloop’s agent .* 42s/ },
  { when: 'the agent’s relists are slow', node: reported({ relists: { count: 3, ofOnePod: 0, history: [{ startedAtMs: 1, trigger: 'relist', durationMs: 2_500, listMs: 2_400, diffMs: 1, inspectMs: 99, pods: 9, due: 0 }] } }), finds: 'AgentRelistSlow', severity: 'warning', says: /list 2\.4s/ },
  { when: 'the agent missed events', node: reported({ stream: { ...agent.stream, missed: 4 } }), finds: 'AgentEventsMissed', severity: 'info', says: /4 changes/ },
  { when: 'the API server lets the agent not in', node: reported({ cluster: { server: 'https://cluster:6443', problems: [{ what: 'pods', error: 'Unauthorized' }] } }), finds: 'AgentOutOfStep', severity: 'critical', says: /https:\/\/cluster:6443/ },
  { when: 'the agent gets all but services', node: reported({ cluster: { server: 'https://cluster:6443', problems: [{ what: 'services', error: 'services is forbidden' }] } }), finds: 'AgentOutOfStep', severity: 'warning', says: /https:\/\/cluster:6443/ },
  { when: 'the agent was told another cgroup driver', node: reported({ cgroups: { driver: 'systemd', source: 'options', conflict: '--cgroup-driver is systemd, but containerd has cgroupfs', problems: [] } }), finds: 'CgroupDriverConflict', severity: 'critical', says: /containerd has cgroupfs[^]*without --cgroup-driver/ },
  { when: 'pods go without limits of memory', node: reported({ cgroups: { driver: 'cgroupfs', source: 'Status', problems: [{ what: 'memory', error: 'memory cannot be enabled in /podloop', remedy: 'Move them.', isNeeded: true }, { what: 'io', error: 'io is not there', remedy: 'Boot with it.', isNeeded: false }] } }), finds: 'CgroupControllersMissing', severity: 'warning', says: /memory, io[^]*in \/podloop[^]*io is not there[^]*Move them\. Boot with it\./ },
  { when: 'pods go without a controller that few ask for', node: reported({ cgroups: { driver: 'cgroupfs', source: 'Status', problems: [{ what: 'hugetlb', error: 'hugetlb is not there', remedy: 'Boot with it.', isNeeded: false }] } }), finds: 'CgroupControllersMissing', severity: 'info', says: /hugetlb is not there/ },
  { when: 'the agent can make no cgroups', node: reported({ cgroups: { driver: 'cgroupfs', source: 'default', problems: [{ what: 'groups', error: 'no cgroup can be made: EACCES', remedy: 'Run podloop as root.', isNeeded: false }] } }), finds: 'CgroupControllersMissing', severity: 'info', says: /can make no cgroups[^]*EACCES[^]*as root/ },
  { when: 'the agent is held up', node: reported({ eventLoop: { meanMs: 90, p99Ms: 800, maxMs: 2_000 } }), finds: 'AgentBusy', severity: 'warning', says: /800ms/ },
];

/** A recording answers what was asked while it was made. */
const notRecorded = (method: string) => ({
  method,
  ...{ count: 1, failed: 1, lastCode: 'CRI_UNIMPLEMENTED' },
  lastError: `${method} fails: this is a recording: nobody asked for ${method} in it`,
});

it.each(['Status', 'Version', 'ListPodSandbox', 'ImageFsInfo', 'ListImages'])(
  'finds nothing in a recording without %s, and much in a runtime without it',
  (method) => {
    const { lastError, ...facts } = notRecorded(method);
    const [recorded, real] = [lastError, 'unknown method'].map((error) =>
      diagnose(aNode(operating(anOperation(method, { ...facts, lastError: error })))),
    );
    expect(recorded).toEqual([]);
    expect(real!.length).toBe(method.includes('Image') ? 0 : 1);
  },
);

describe('diagnose', () => {
  it('blames nothing on a healthy node, with an agent or without one', () => {
    expect(diagnose(aNode())).toEqual([]);
    expect(diagnose(aNode(reported({})))).toEqual([]);
    const inStep = { server: 'https://cluster:6443', problems: [] };
    expect(diagnose(aNode(reported({ cluster: inStep })))).toEqual([]);
    expect(diagnose(aNode(measured({})))).toEqual([]);
    expect(exitCodeOf({ facts: aNode(), findings: [] })).toBe(0);
  });

  it('leaves a system’s own read-only file systems alone', () => {
    const disk = {
      ...machine.disks[0]!,
      path: '/',
      holdsImages: false,
      mustBeWritten: false,
      isReadOnly: true,
    };
    expect(diagnose(aNode({ machine: { disks: [disk] } }))).toEqual([]);
  });

  it.each([
    ['ENDPOINT_NOT_FOUND', 'RuntimeSocketMissing'],
    ['CRI_UNAVAILABLE', 'RuntimeNotRunning'],
  ])('lists the shims of a runtime that is not there below it: %s', (code, finds) => {
    const shims = [{ pid: 6, command: 'containerd-shim', sandboxId: SANDBOX }];
    const abandonedShims = known({ count: 24, shims, addresses: ['/run/c.sock'] });
    const findings = diagnose(aNode({ ...failed(code, 'gone'), machine: { abandonedShims } }));
    expect(findings).toMatchObject([{ code: finds, follows: [{ code: 'ShimsAbandoned' }] }]);
    expect(diagnose(aNode({ machine: { abandonedShims } }))).toMatchObject([{ code: 'ShimsAbandoned' }]);
  });

  it('blames a shim for a runtime that is starting and waits for it, and not for one that is gone', () => {
    const ill = { illShims: [{ ...SHIM, illness: 'stopped' as const }], illShimCount: 1 };
    const abandonedShims = known({
      ...{ count: 2, shims: [{ pid: 6, command: 'containerd-shim', sandboxId: SANDBOX }] },
      addresses: ['/run/c.sock'],
    });
    const away = (daemon: object) =>
      diagnose(
        aNode({
          ...failed('CRI_UNAVAILABLE', 'nobody listens'),
          machine: { ...working(ill).machine, abandonedShims, daemons: known(daemon) },
        }),
      );
    const starting = { startingRuntime: { pid: 77, command: 'containerd', forMs: 5_000 } };
    expect(away(starting)).toMatchObject([
      {
        code: 'ShimStopped',
        pod: WEB,
        follows: expect.arrayContaining([
          expect.objectContaining({
            code: 'RuntimeNotRunning',
            process: { pid: 77, command: 'containerd' },
            message: expect.stringContaining('containerd (pid 77) was started 5s ago') as string,
          }),
          expect.objectContaining({ code: 'ShimsAbandoned' }),
        ]) as object[],
      },
    ]);
    expect(away({}).map(({ code }) => code)).toEqual(['RuntimeNotRunning', 'ShimStopped']);
  });

  it('blames nothing that is not known', () => {
    const nothing = notKnown('not asked');
    const facts = aNode({
      runtime: {
        ...{ conditions: nothing, operations: [], lists: [] },
        ...{ population: nothing, inspections: nothing, events: nothing },
      },
      machine: {
        ...{ pressure: nothing, load: nothing, memory: nothing, processes: nothing },
        ...{ disks: [], silentDisks: [], fsync: nothing },
        ...{ shims: nothing, abandonedShims: nothing, plugins: nothing },
      },
    });
    expect(diagnose(facts)).toEqual([]);
  });

  it.each(CASES)('finds $finds and nothing else when $when', ({ node, finds, severity, says }) => {
    const findings = diagnose(aNode(node));
    expect(findings.map(({ code }) => code)).toEqual([finds]);
    const [{ message, evidence, remedy, ...finding }] = findings as [(typeof findings)[number]];
    expect(finding.severity).toBe(severity);
    expect([message, ...evidence, remedy].join('\n')).toMatch(says);
    expect(evidence.length).toBeGreaterThan(0);
    expect(remedy).not.toBe('');
  });

  it.each(CASES)('shows no id beside the names of $finds when $when', ({ node }) => {
    for (const { message, evidence } of diagnose(aNode(node)))
      for (const line of [message, ...evidence]) expect(line).not.toMatch(/[0-9a-f]{13}|uid-/);
  });

  /** Words of a remedy that ends or restarts something, and those that say what this interrupts. */
  const ENDS = /kill -9|kill the|end the shim|restart|\brmp?\b|umount|drain|-QUIT|ends? (?:the|its) /i;
  const SAYS = /interrupt|go on|ends (?:it|them|these|the containers)|fails?\b|no other|is away for seconds/i;

  it.each(CASES)('says what the remedy of $finds interrupts when $when', ({ node }) => {
    for (const { remedy } of diagnose(aNode(node))) if (ENDS.test(remedy)) expect(remedy).toMatch(SAYS);
  });

  it('says who is at it and since when where that is known', () => {
    const plugin = { pid: 44, command: 'calico', operation: 'ADD', sandboxId: SANDBOX, pod: WEB };
    expect(diagnose(aNode(plugged({ ...plugin, forMs: 90_000 })))).toMatchObject([
      {
        ...{ pod: WEB, process: { pid: 44, command: 'calico' }, operation: 'CNI ADD' },
        ...{ sinceMs: NOW - 90_000, ids: [`pid 44: sandbox ${SANDBOX}`] },
      },
    ]);
    expect(diagnose(aNode(measured({}, [{ ...WAITING, reason: 'ErrImagePull' }])))).toMatchObject([
      { code: 'PodsWait', sinceMs: NOW - 40_000 },
    ]);
    expect(diagnose(aNode(measured({ lastSeenAgoMs: 200_000 })))).toMatchObject([{ sinceMs: NOW - 200_000 }]);
    const stuck = { pod: WEB, state: 'hung', sinceMs: 1, forMs: 65_000, failures: 2 } as const;
    expect(diagnose(aNode(reported({ stuckPods: [stuck], stuckPodCount: 1 })))).toMatchObject([
      { code: 'AgentPodStuck', sinceMs: NOW - 65_000 },
    ]);
    const task = { pid: 7, command: 'ls', pod: WEB, container: 'app', waitsIn: '' };
    expect(diagnose(aNode(running({ blocked: [task], blockedCount: 1 })))).toMatchObject([
      { code: 'TasksBlocked', process: { pid: 7, command: 'ls' } },
    ]);
  });

  it('has a case for every code', async () => {
    const { FINDING_CODES } = await import('./finding-codes.js');
    expect([...new Set(CASES.map(({ finds }) => finds))].sort()).toEqual(Object.keys(FINDING_CODES).sort());
  });

  it('names the pod and the call', () => {
    const [finding] = diagnose(aNode(inspected({ hung: [hung('web')] })));
    expect(finding).toMatchObject({ pod: WEB, call: 'PodSandboxStatus' });
    const error = 'podsandbox_status of sandbox s1 of pod default/web: rpc error: code = Unknown desc = gone';
    const stuck = { pod: WEB, state: 'failing', sinceMs: 1, forMs: 65_000, failures: 2, error } as const;
    const [ofAgent] = diagnose(aNode(reported({ stuckPods: [stuck], stuckPodCount: 1 })));
    expect(ofAgent).toMatchObject({ code: 'AgentPodStuck', pod: WEB, call: 'PodSandboxStatus' });
  });

  it('says the worst first, and of what is as bad the cause before what follows', () => {
    const facts = aNode({
      ...pressed('io', { fullAvg10: 80 }),
      ...inspected({ medianMs: 3_000 }),
      ...certified(5 * DAY_MS),
    });
    expect(diagnose(facts).map(({ code }) => code)).toEqual([
      'IoPressure',
      'StatusSlow',
      'CertificateExpires',
    ]);
  });

  it('finds one cause for a disk on which everything waits', () => {
    const fsync = known({ path: '/var/lib/containerd', writes: 5, medianMs: 900, maxMs: 4_000 });
    const busy = pressed('io', { fullAvg10: 80 }).machine;
    expect(diagnose(aNode({ machine: { ...busy, fsync } }))).toMatchObject([
      { code: 'IoPressure', follows: [{ code: 'DiskSlow' }] },
    ]);
  });

  it('leaves alone what is busy and well', () => {
    const busy = [
      measured({ isEvented: true, lastSeenAgoMs: 310_000 }),
      plugged({ pid: 44, command: 'calico', operation: 'ADD', sandboxId: SANDBOX, pod: WEB, forMs: 12_000 }),
      measured({ thresholdMs: 600_000, lastSeenAgoMs: 310_000 }),
      {
        machine: {
          disks: [
            {
              ...machine.disks[0]!,
              path: '/',
              holdsImages: false,
              mustBeWritten: false,
              availableBytes: 0,
              freeInodes: 0,
              isReadOnly: true,
            },
          ],
        },
      },
      {
        machine: {
          disks: [{ ...machine.disks[0]!, holdsImages: false, availableBytes: 14 * 1024 ** 3 }],
        },
      },
      populated({ crashLoopCount: 3, containersByState: { running: 268, exited: 750 } }),
      certified(10 * 3_600_000, DAY_MS),
      running({ blocked: [{ pid: 7, command: 'jbd2/sda1-8', waitsIn: '' }], blockedCount: 1 }),
      reported({
        callsInFlight: [{ method: 'PullImage', operation: 'pull_image', startedAtMs: 1, ageMs: 90_000 }],
      }),
      {
        runtime: {
          events: known({
            isSupported: false,
            watchedMs: 9,
            received: 0,
            changed: 0,
            missed: [],
            missedCount: 0,
            ended: 'Unimplemented',
          }),
        },
      },
    ];
    for (const node of busy) expect(diagnose(aNode(node))).toEqual([]);
  });

  it('only explains what a kubelet went through before', () => {
    const operation = { operation: 'list_containers', count: 9, errors: 0, p99Ms: 9_000, isRecent: false };
    const findings = diagnose(aNode(measured({ eventsDiscarded: 9, operations: [operation] })));
    expect(findings.map(({ code, severity }) => [code, severity])).toEqual([
      ['KubeletEventsDiscarded', 'info'],
      ['KubeletCallsSlow', 'info'],
    ]);
    expect(exitCodeOf({ facts: aNode(), findings })).toBe(0);
  });

  it('only explains calls of a kubelet that take seconds while the machine is busy, unless they take ten', () => {
    const calls = (p99Ms: number, busy: object): unknown => {
      const operation = { operation: 'list_containers', count: 9, errors: 0, p99Ms, isRecent: true };
      const node = { ...pressed('cpu', busy), ...measured({ operations: [operation] }) };
      return diagnose(aNode(node)).map(({ code, severity }) => [code, severity]);
    };
    expect(calls(2_800, { someNow: 70 })).toEqual([['KubeletCallsSlow', 'info']]);
    expect(calls(2_800, { someNow: 20 })).toEqual([['KubeletCallsSlow', 'warning']]);
    expect(calls(12_000, { someNow: 70 })).toEqual([['KubeletCallsSlow', 'warning']]);
  });

  it('does not tell twice of a pod that hangs for both', () => {
    const facts = aNode({
      ...inspected({ hung: [hung('web')] }),
      ...reported({
        stuckPods: [{ pod: WEB, state: 'hung', sinceMs: 1, forMs: 65_000, failures: 2 }],
        callsInFlight: [
          {
            method: 'ContainerStatus',
            operation: 'container_status',
            pod: WEB,
            startedAtMs: 1,
            ageMs: 42_000,
          },
        ],
      }),
    });
    expect(diagnose(facts).map(({ code }) => code)).toEqual(['PodHung']);
  });
});

describe('exitCodeOf', () => {
  it.each<[string, NodeFactsChanges, number]>([
    ['0 for news', reported({ stream: { ...agent.stream, missed: 4 } }), 0],
    ['1 for warnings', measured({ eventsDiscarded: 1, eventsDiscardedLately: 1 }), 1],
    ['2 for what is critical', inspected({ hung: [hung('web')] }), 2],
    ['4 when it may not look', failed('ENDPOINT_PERMISSION_DENIED', 'EACCES'), 4],
    [
      '2 when it may not look and finds something critical beside that',
      {
        ...failed('ENDPOINT_PERMISSION_DENIED', 'EACCES'),
        machine: { silentDisks: [{ path: '/', purpose: 'the root', forMs: 5_000 }] },
      },
      2,
    ],
    [
      '4 when it may not look and finds what is no more than a warning',
      { ...failed('ENDPOINT_PERMISSION_DENIED', 'EACCES'), ...certified(5 * DAY_MS) },
      4,
    ],
    ['4 when nothing was found and pods were not seen', { runtime: { population: notKnown('no list') } }, 4],
    [
      '4 when a kubelet runs and does not say how it is',
      { machine: { daemons: known({ kubelet: DAEMON }) } },
      4,
    ],
    ['4 when processes were not seen', { machine: { processes: notKnown('no /proc') } }, 4],
    [
      '0 for a recording, which has no machine',
      { runtime: { name: 'podloop-replay' }, machine: { processes: notKnown('no /proc') } },
      0,
    ],
    [
      '0 for a recording under the name of its runtime, in which nobody asked for the conditions',
      {
        runtime: {
          ...{ name: 'containerd', conditions: notKnown('Status failed') },
          operations: [
            {
              ...{ method: 'Status', count: 1, hung: 0, failed: 1, p50Ms: 1, p99Ms: 1, maxMs: 1 },
              ...{
                lastError: `status: ${NOT_RECORDED}nobody asked for Status in it`,
                lastCode: 'CRI_UNIMPLEMENTED',
              },
            },
          ],
        },
        machine: { processes: notKnown('no /proc'), runtimeWork: notKnown('no /proc') },
      },
      0,
    ],
    ['4 when the conditions were not seen', { runtime: { conditions: notKnown('Status failed') } }, 4],
    ['0 when nobody measures the pressure', { machine: { pressure: notKnown('no PSI') } }, 0],
  ])('is %s', (_, node, code) => {
    const facts = aNode(node);
    expect(exitCodeOf({ facts, findings: diagnose(facts) })).toBe(code);
  });
});
