import { formatAgeOf } from './human-age.js';
import { type PodObject, type PodStatusObject } from './kube-object.js';
import { type PodSummary, summarizePod } from './summarize-pod.js';

/** The cells of a pod in a table, besides its name and age. */
export interface PodRow {
  /** `1/2`. */
  readonly ready: string;
  /** {@link PodSummary.status}; while an image is pulled with how far that is: `ContainerCreating (pulling 45%)`. */
  readonly status: string;
  /** `3 (10s ago)`. */
  readonly restarts: string;
}

/** The cells of a pod in the table of `kubectl get pods`. */
export function podRow({ spec = {}, status = {}, metadata = {} }: PodObject, nowMs: number): PodRow {
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const summary = summarizePod({ spec, status, isTerminating });
  const { ready, total } = summary;
  return {
    ready: `${ready}/${total}`,
    status: isTerminating ? summary.status : `${summary.status}${formatPull(status)}`,
    restarts: formatRestarts(summary, nowMs),
  };
}

/** Of the first container whose message says how far the pull of its image is. */
function formatPull({ initContainerStatuses = [], containerStatuses = [] }: PodStatusObject): string {
  for (const { state } of [...initContainerStatuses, ...containerStatuses]) {
    const [, verb, percent] = /^(Pulling|Unpacking) (\d+%)/.exec(state?.waiting?.message ?? '') ?? [];
    if (verb !== undefined) return ` (${verb.toLowerCase()} ${percent})`;
  }
  return '';
}

function formatRestarts({ restarts, lastRestartAtMs }: PodSummary, nowMs: number): string {
  if (restarts === 0 || lastRestartAtMs === undefined) return String(restarts);
  return `${restarts} (${formatAgeOf(lastRestartAtMs, nowMs)} ago)`;
}
