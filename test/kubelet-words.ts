/**
 * The lines of a kubelet's log (v1.37) that operators search for, and what podloop makes of each: the same message with the same
 * keys where it does the same thing. docs/reference/log-lines.md shows this table; a test holds it against that page, the
 * source, and the log of an agent.
 *
 * @module
 */

/** A line of a kubelet. */
export interface KubeletLine {
  readonly message: string;
  /** From which `-v` on podloop says it; `E` for an error, which is always said. */
  readonly level: 'E' | 0 | 1 | 2 | 3 | 4;
  /** What it has at least. */
  readonly keys: readonly string[];
  /** What podloop says instead, or why nothing; absent where it says the same. */
  readonly instead?: string;
}

const of = (level: KubeletLine['level'], keys: string, ...messages: readonly string[]): KubeletLine[] =>
  messages.map((message) => ({ message, level, keys: keys === '' ? [] : keys.split(' ') }));
const instead = (message: string, words: string): KubeletLine => ({
  ...{ message, level: 0, keys: [], instead: words },
});

/** In the order in which a kubelet's life has them: at the usual level first, then what is for debugging. */
export const KUBELET_LINES: readonly KubeletLine[] = [
  instead('Kubelet version', '`Started node agent`, with `version`'),
  ...of(0, 'path', 'Using root directory'),
  ...of(0, 'endpoint', 'Validated CRI v1 runtime API'),
  instead(
    'Validated CRI v1 image API',
    'nothing: both are served by the same runtime, and the first is asked',
  ),
  ...of(0, 'address port', 'Starting to listen'),
  instead('Started kubelet', '`Started node agent`'),
  ...of(2, 'source pods', 'SyncLoop ADD', 'SyncLoop UPDATE', 'SyncLoop REMOVE', 'SyncLoop DELETE'),
  ...of(2, 'pod event', 'SyncLoop (PLEG): event for pod'),
  ...of(1, 'probe status pod', 'SyncLoop (probe)'),
  ...of('E', 'err', 'Skipping pod synchronization'),
  ...of('E', 'err pod podUID', 'Error syncing pod, skipping'),
  ...of(2, 'pod', 'No sandbox for pod can be found. Need to start a new one'),
  ...of(2, 'pod', 'No ready sandbox for pod can be found. Need to start a new one'),
  ...of(2, 'containerName containerStatusID pod containerMessage', 'Message for Container of pod'),
  ...of(2, 'pod podUID containerName containerID gracePeriod', 'Killing container with a grace period'),
  ...of(2, 'podID containerID exitCode', 'Generic (PLEG): container finished'),
  ...of(2, 'containerID', 'RemoveContainer'),
  ...of(1, 'probeType pod podUID containerName probeResult output', 'Probe failed'),
  ...of('E', 'err probeType pod podUID containerName probeResult', 'Probe errored'),
  ...of(2, 'pod podUID', 'operationExecutor.MountVolume started for volume'),
  ...of(2, 'pod podUID', 'MountVolume.SetUp succeeded for volume'),
  ...of(2, 'podUID', 'operationExecutor.UnmountVolume started for volume'),
  instead('Volume detached for volume', 'nothing: no volume of podloop is attached to a node'),
  ...of(2, 'podUID path', 'Cleaned up orphaned pod volumes dir'),
  ...of('E', 'err', 'ContainerStatus from runtime service failed'),
  ...of(2, 'pod', 'Creating a mirror pod for static pod'),
  ...of(2, 'pod podStartSLOduration podStartE2EDuration', 'Observed pod startup duration'),
  ...of(4, 'source pods', 'SyncLoop RECONCILE'),
  ...of(4, 'podUID containerID oldState newState', 'GenericPLEG'),
  ...of(4, 'pod', 'PLEG: Write status'),
  ...of(4, 'event', 'SyncLoop (PLEG): pod does not exist, ignore irrelevant event'),
  ...of(4, '', 'SyncLoop (housekeeping)'),
  ...of(4, 'duration', 'SyncLoop (housekeeping) end'),
  ...of(4, 'source', 'Setting pods for source'),
  ...of(4, 'path', 'Reading config file'),
  ...of(4, 'pod podUID updateType', 'Processing pod event', 'Processing pod event done'),
  ...of(4, 'pod podUID', 'Notifying pod of pending update', 'Pending update already queued'),
  ...of(4, 'pod podUID', 'SyncPod enter'),
  ...of(4, 'pod podUID isTerminal', 'SyncPod exit'),
  ...of(4, 'podActions pod', 'computePodActions got for pod'),
  ...of(4, 'containerType container pod', 'Creating container in pod'),
  ...of(4, 'containerName pod', 'Container of pod is not in the desired state and shall be started'),
  ...of(4, 'containerName containerID pod', 'Killing unwanted container for pod'),
  ...of(3, 'pod podUID containerName containerID', 'Container exited normally'),
  ...of(4, 'containerName pod', 'Checking backoff for container in pod'),
  ...of(4, 'containerType container pod', 'Backing Off restarting container in pod'),
  ...of(3, 'containerName pod', 'Back-off restarting failed container'),
  ...of(4, 'pod podIsTerminal', 'Generating pod status'),
  ...of(4, 'pod oldPhase phase', 'Got phase for pod'),
  ...of(4, 'pod', 'Ignoring same status for pod'),
  ...of(4, 'pod containerID', 'Container readiness unchanged'),
  ...of(4, 'pod podUID containerName', 'Exec-Probe runProbe'),
  ...of(4, 'pod', 'Waiting for volumes to attach and mount for pod'),
  ...of(4, 'pod', 'All volumes are attached and mounted for pod'),
  ...of(4, 'podUID', 'Waiting for volumes to unmount for pod'),
  ...of(2, 'podUID', 'All volumes are unmounted for pod'),
  ...of(4, 'status', 'Container runtime status'),
  ...of(4, '', 'Clean up pod workers for terminated pods', 'Clean up orphaned pod directories'),
  ...of(3, 'podUID', 'Orphaned pod found, removing'),
  ...of(4, 'object kind apiVersion type reason message', 'Event occurred'),
];

/** Lines of a log in klog's text that have a kubelet's message and not all of its keys. */
export function findLinesWithoutKeys(lines: readonly string[]): string[] {
  return lines.filter((line) => {
    const [, said = '', rest = ''] =
      /^[IWE]\d{4} \S+ +\d+ [^\]]+\] "((?:[^"\\]|\\.)*)"(.*)$/.exec(line) ?? [];
    const known = findLine(said);
    return known?.keys.every((key) => rest.includes(` ${key}=`)) === false;
  });
}

/** The kubelet's line of that message; those about a volume have its name behind it. */
export function findLine(said: string): KubeletLine | undefined {
  const message = said.replace(/ \\"[^"]*\\"$/, '');
  return KUBELET_LINES.find((line) => line.instead === undefined && line.message === message);
}
