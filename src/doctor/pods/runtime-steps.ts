import { formatPod } from '#kube/pod/pod-ref.js';
import { formatMs } from '../rules/words.js';
import { adviseRestart } from './container-steps.js';
import { describeEnd } from './pod-object.js';
import { type PodCase, type RuntimeContainer } from './pod-case.js';
import { type Standing } from './standing.js';

const NO_PROBES = 'whether its probes succeed only its kubelet knows';

/** Where a pod stands as far as the runtime alone shows it. */
export function explainByRuntime(podCase: PodCase): Standing {
  const { pod, facts, sandboxes, findings } = podCase;
  const name = formatPod(pod);
  if (!facts.runtime.population.known)
    return {
      ...{ step: 'unknown', reason: 'NotSeen' },
      message: `nothing is known of pod ${name}: ${facts.runtime.population.why}`,
      remedy: 'Mend the runtime first; podloop doctor says how.',
    };
  const late = findings.find(
    (finding) =>
      ['SandboxHangs', 'OciRuntimeHangs', 'MountHangs', 'ShimStopped', 'ShimHangs'].includes(finding.code) &&
      [finding.pod, ...(finding.pods ?? [])].some((of) => of !== undefined && formatPod(of) === name),
  );
  const sandbox = sandboxes.find(({ ready }) => ready);
  const newest = listNewest(podCase);
  if (sandbox === undefined) return explainWithoutSandbox(podCase, newest, late?.message);
  const failed = newest.find(({ state, exitCode }) => state === 'exited' && exitCode !== 0);
  const created = newest.find(({ state }) => state === 'created');
  const running = newest.filter(({ state }) => state === 'running');
  if (created !== undefined)
    return {
      ...{
        step: 'start',
        container: created.name,
        reason: late?.code ?? 'Created',
        sinceMs: created.createdAtMs,
      },
      message: `container ${created.name} of pod ${name} has been created and does not run${late === undefined ? '' : `: ${late.message}`}`,
      remedy: late?.remedy ?? 'Starting takes milliseconds: ask again, and see podloop doctor for the node.',
    };
  if (failed !== undefined) return explainFailure(podCase, failed);
  if (running.length > 0)
    return {
      ...{ step: 'running', reason: 'Running', isWell: late === undefined },
      sinceMs: Math.max(...running.map(({ createdAtMs }) => createdAtMs)),
      message: `pod ${name} runs: ${running.map((each) => each.name).join(', ')}; ${NO_PROBES}${late === undefined ? '' : `; but ${late.message}`}`,
      remedy:
        late?.remedy ??
        'Nothing, unless it is not Ready: then its kubelet has to be asked (kubectl describe pod).',
    };
  if (newest.length > 0)
    return {
      ...{ step: 'ended', reason: 'Completed', isWell: true, sinceMs: endOf(newest) },
      message: `pod ${name} has ended: each container with exit code 0`,
      remedy: 'Nothing, unless it should go on running.',
    };
  return {
    ...{ step: 'pull', reason: late?.code ?? 'ContainerCreating', sinceMs: sandbox.createdAtMs },
    message: `pod ${name} has had its sandbox for ${formatMs(Math.max(0, facts.atMs - sandbox.createdAtMs))} and no container yet: ${late?.message ?? 'most likely an image is being pulled, or cannot be'}`,
    remedy:
      late?.remedy ??
      'See what its kubelet says: kubectl describe pod, journalctl -u kubelet. On this node crictl pull IMAGE asks the same registry.',
  };
}

function explainWithoutSandbox(
  { pod, sandboxes }: PodCase,
  newest: readonly RuntimeContainer[],
  late: string | undefined,
): Standing {
  const name = formatPod(pod);
  const isOver =
    newest.length > 0 && newest.every(({ state, exitCode }) => state === 'exited' && exitCode === 0);
  if (isOver && late === undefined)
    return {
      ...{ step: 'ended', reason: 'Completed', isWell: true, sinceMs: endOf(newest) },
      message: `pod ${name} has ended: each container with exit code 0`,
      remedy: 'Nothing, unless it should go on running.',
    };
  const latest = Math.max(0, ...sandboxes.map(({ createdAtMs }) => createdAtMs));
  return {
    ...{ step: 'sandbox', reason: 'SandboxNotReady', ...(latest === 0 ? {} : { sinceMs: latest }) },
    message: `pod ${name} has no sandbox that is ready${late === undefined ? '' : `: ${late}`}`,
    evidence: [
      `${sandboxes.length} sandboxes of it are there, the newest is attempt ${sandboxes[0]?.attempt ?? 0}`,
    ],
    remedy:
      'It was ended, or its network or its pause container fails: see what its kubelet says (kubectl describe pod, journalctl -u kubelet), and whether the pod is still wanted.',
  };
}

function explainFailure({ pod, facts }: PodCase, container: RuntimeContainer): Standing {
  const { name, attempt, finishedAtMs, createdAtMs } = container;
  const sinceMs = finishedAtMs ?? createdAtMs;
  return {
    ...{ step: 'back-off', container: name, reason: container.reason ?? 'Error', sinceMs },
    message: `container ${name} of pod ${formatPod(pod)} ${describeEnd(container)} ${formatMs(Math.max(0, facts.atMs - sinceMs))} ago and has not been started again yet`,
    evidence: [`it was started ${attempt + 1} times`],
    remedy: adviseRestart(name, container),
  };
}

/** The last attempt of each container, in the order in which they were made. */
function listNewest({ containers }: PodCase): RuntimeContainer[] {
  const newest = new Map<string, RuntimeContainer>();
  for (const container of [...containers].sort((a, b) => a.createdAtMs - b.createdAtMs))
    newest.set(container.name, container);
  return [...newest.values()];
}

function endOf(containers: readonly RuntimeContainer[]): number {
  return Math.max(...containers.map(({ finishedAtMs, createdAtMs }) => finishedAtMs ?? createdAtMs));
}
