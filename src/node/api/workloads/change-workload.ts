/**
 * Changes of a workload beside its manifest: how many pods it has, and that its pods are made again.
 *
 * Such a change holds until the manifest says something else. All other changes are changes of the manifest.
 *
 * @module
 */
import { isRecord } from '#base/text/is-record.js';
import { badRequest, invalidError, notFoundError } from '../http/api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { applyBody, type ObjectTaker } from '../objects/apply-object.js';
import { type JsonObject } from '../patches/merge-patch.js';
import { patchedBy } from '../objects/patch-object.js';
import { isDryRun } from '../objects/delete-pod.js';

/** A workload or a claim as it is shown. */
export interface ServedWorkload {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind?: string; readonly name?: string }[];
  };
}

/** What can be changed beside the manifest. */
export interface WorkloadChange {
  readonly replicas?: number;
  /** When its pods are made again, RFC 3339. */
  readonly restartedAt?: string;
}

/** Changes a workload of a manifest. Resolves, once that is on the disk, with false if there is no such workload. */
export type ChangeWorkload = (
  object: { readonly kind: string; readonly namespace: string; readonly name: string },
  change: WorkloadChange,
  signal: AbortSignal,
) => Promise<boolean>;

/** The annotation by which kubectl has the pods of a template made again. */
export const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** Kinds that have a number of pods. */
export const SCALED_KINDS: readonly string[] = [
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController'],
];

/** What the handlers of one kind need. */
export interface WorkloadChangesOptions extends Pick<ObjectTaker, 'kind' | 'plural' | 'apply'> {
  /** Throws NotFound, or Conflict for one that another workload has made. */
  readonly findOwn: (request: ApiRequest) => ServedWorkload;
  readonly change: ChangeWorkload;
}

/** PATCH …/{plural}/{name}: of the replicas or for a restart beside the manifest, of all else in it. */
export function patchWorkload(options: WorkloadChangesOptions): ApiHandler {
  return async (request) => {
    const before = options.findOwn(request) as unknown as JsonObject;
    const body = await request.readBody();
    const beside = isRecord(body) ? readChange(options.kind, body) : undefined;
    if (beside !== undefined) return changeBeside(options, request, beside);
    return applyBody(options, request, patchedBy(request, before, body));
  };
}

/**
 * GET, PUT and PATCH …/{plural}/{name}/scale: how many pods there are to be.
 *
 * Source: https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#scale-v1-autoscaling
 */
export function scaleHandlers(options: WorkloadChangesOptions): {
  readonly get: ApiHandler;
  readonly set: ApiHandler;
} {
  return {
    get: (request) => jsonAnswer(toScale(options.findOwn(request))),
    set: async (request) => {
      options.findOwn(request);
      const body = await request.readBody();
      const replicas = isRecord(body) && isRecord(body['spec']) ? (body['spec']['replicas'] ?? 0) : undefined;
      if (replicas === undefined) throw badRequest('the body must be a Scale with spec.replicas');
      await changeBeside(options, request, { replicas: replicas as number });
      return jsonAnswer(toScale(options.findOwn(request)));
    },
  };
}

async function changeBeside(
  { kind, plural, change, findOwn }: WorkloadChangesOptions,
  request: ApiRequest,
  beside: WorkloadChange,
): Promise<ApiAnswer> {
  const { namespace = '', name = '' } = request.params;
  const { replicas } = beside;
  if (replicas !== undefined && (!Number.isSafeInteger(replicas) || replicas < 0)) {
    const message = `Invalid value: ${JSON.stringify(replicas)}: must be a whole number, 0 or more`;
    throw invalidError(kind, name, [{ reason: 'FieldValueInvalid', message, field: 'spec.replicas' }]);
  }
  if (!isDryRun(request.query)) {
    const isThere = await change({ kind, namespace, name }, beside, request.signal);
    if (!isThere) throw notFoundError(plural, name);
  }
  return jsonAnswer(findOwn(request));
}

/** The change of a patch that asks for nothing else, of a kind that has it; undefined for any other. */
function readChange(kind: string, patch: JsonObject): WorkloadChange | undefined {
  const { spec, ...others } = patch;
  if (Object.keys(others).length > 0 || !isRecord(spec)) return undefined;
  const { replicas, template, ...fields } = spec;
  const isScaled = SCALED_KINDS.includes(kind);
  const mayRestart = isScaled || kind === 'DaemonSet';
  if (Object.keys(fields).length > 0 || !mayRestart || (replicas !== undefined && !isScaled))
    return undefined;
  const restart = template === undefined ? {} : readRestart(template);
  if (restart === undefined || (replicas !== undefined && typeof replicas !== 'number')) return undefined;
  return { ...restart, ...(replicas === undefined ? {} : { replicas }) };
}

function readRestart(template: unknown): WorkloadChange | undefined {
  const annotations = onlyField(onlyField(template, 'metadata'), 'annotations');
  const restartedAt = onlyField(annotations, RESTARTED_AT);
  return typeof restartedAt === 'string' && !Number.isNaN(Date.parse(restartedAt))
    ? { restartedAt }
    : undefined;
}

function onlyField(value: unknown, name: string): unknown {
  return isRecord(value) && Object.keys(value).length === 1 ? value[name] : undefined;
}

function toScale(workload: ServedWorkload): object {
  const {
    metadata,
    spec = {},
    status = {},
  } = workload as ServedWorkload & {
    readonly spec?: { readonly replicas?: number };
    readonly status?: { readonly replicas?: number };
  };
  const { name, namespace, uid, creationTimestamp } = metadata as ServedWorkload['metadata'] & {
    readonly uid?: string;
    readonly creationTimestamp?: string;
  };
  return {
    ...{ kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name, namespace, uid, creationTimestamp } },
    spec: { replicas: spec.replicas ?? 1 },
    status: { replicas: status.replicas ?? 0 },
  };
}
