import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { isWorkloadKind, type Workload, WORKLOAD_VERSIONS } from '#kube/workloads/workload.js';
import { randomSuffix } from '#base/text/random-suffix.js';
import { isRecord } from '#base/text/is-record.js';
import { ApiError, type ApiStatusCause, badRequest, invalidError } from '../http/api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { isDryRun } from './delete-pod.js';

/** The kinds that clients can apply. */
export type ApplicableKind =
  'Pod' | 'ConfigMap' | 'Secret' | Exclude<Workload['kind'], 'Namespace' | 'ServiceAccount'>;

/** An object that a client applies. */
export interface ObjectToApply {
  readonly kind: ApplicableKind;
  readonly namespace: string;
  readonly name: string;
  /** As received. */
  readonly value: object;
  readonly isDryRun: boolean;
  /** An object of that name that is there already is an error. */
  readonly mustBeNew: boolean;
}

/** The result. */
export type Applied =
  | { readonly kind: 'applied'; readonly result: 'created' | 'configured' | 'unchanged' }
  | { readonly kind: 'invalid'; readonly causes: readonly ApiStatusCause[] }
  /** It cannot be written for an external reason. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string };

type RefusalReason = 'AlreadyExists' | 'Conflict' | 'Forbidden' | 'MethodNotAllowed';

/** Adds an object to the manifests. Resolves once the agent has read it, or a moment later. */
export type ApplyObject = (object: ObjectToApply, signal: AbortSignal) => Promise<Applied>;

/** By the plural of each kind. */
export const APPLICABLE_KINDS: Readonly<Record<string, ApplicableKind>> = {
  pods: 'Pod',
  configmaps: 'ConfigMap',
  secrets: 'Secret',
};

/** The result for the object: created, configured or unchanged. */
const RESULT_HEADER = 'podloop-result';

/** POST …/{plural}: creates the object, if there is none of that name. PUT …/{plural}/{name}: makes it what the body says. */
export function applyObject(kind: ApplicableKind, plural: string, apply: ApplyObject): ApiHandler {
  return async (request) => {
    // Only the path of a PUT names the object.
    const mustBeNew = request.params['name'] === undefined;
    return applyBody({ kind, plural, apply, mustBeNew }, request, await request.readBody());
  };
}

/** Accepts objects of one kind. */
export interface ObjectTaker {
  readonly kind: ApplicableKind;
  readonly plural: string;
  readonly apply: ApplyObject;
  readonly mustBeNew?: boolean;
}

/** Makes the object what the body says, whatever part the request contained. */
export async function applyBody(
  { kind, plural, apply, mustBeNew = false }: ObjectTaker,
  request: ApiRequest,
  body: unknown,
): Promise<ApiAnswer> {
  const { namespace = '' } = request.params;
  let value: GivenObject;
  let applied: Applied;
  let tries = 0;
  do {
    value = readObject(request, kind, mustBeNew ? withGeneratedName(body) : body);
    const { name } = value.metadata;
    const object = { kind, namespace, name, value, isDryRun: isDryRun(request.query), mustBeNew };
    applied = await apply(object, request.signal);
  } while (isTaken(applied) && isToBeNamed(body) && ++tries < MAX_NAMES);
  const { name } = value.metadata;
  if (applied.kind === 'invalid') throw invalidError(kind, name, applied.causes);
  if (applied.kind === 'refused') throw refusal(plural, name, applied.reason, applied.message);
  const code = applied.result === 'created' ? 201 : 200;
  return jsonAnswer(shown(kind, value), code, { [RESULT_HEADER]: applied.result });
}

/** How many names are made until one is free, as an API server does. */
const MAX_NAMES = 8;
/** A name is often that of a host, too, with 63 characters at most. */
const MAX_BASE_LENGTH = 58;

function isTaken(applied: Applied): boolean {
  return applied.kind === 'refused' && applied.reason === 'AlreadyExists';
}

/** Whether the object leaves its name to whoever creates it (`generateName`). */
function isToBeNamed(body: unknown): body is { readonly metadata: { readonly generateName: string } } {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  if (!isRecord(metadata)) return false;
  const { name = '', generateName = '' } = metadata;
  return (name === '' || name === null) && typeof generateName === 'string' && generateName !== '';
}

/** The object with a random name in place of `generateName`: each creation makes another object. */
function withGeneratedName(body: unknown): unknown {
  if (!isToBeNamed(body)) return body;
  const { generateName, ...metadata } = body.metadata;
  const name = `${generateName.slice(0, MAX_BASE_LENGTH)}${randomSuffix(Math.random)}`;
  return { ...body, metadata: { ...metadata, name } };
}

interface GivenObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

function readObject({ params }: ApiRequest, kind: ApplicableKind, body: unknown): GivenObject {
  if (!isRecord(body)) throw badRequest('the body must be an object');
  const version = isWorkloadKind(kind) ? WORKLOAD_VERSIONS[kind] : 'v1';
  const { metadata = {}, apiVersion = version, kind: said = kind } = body;
  if (said !== kind || apiVersion !== version) {
    throw badRequest(`${JSON.stringify(said)} of ${JSON.stringify(apiVersion)} is not a ${version} ${kind}`);
  }
  if (!isRecord(metadata)) throw badRequest('metadata must be an object');
  const { name = params['name'], namespace } = metadata;
  if (typeof name !== 'string' || name === '') {
    const cause = {
      reason: 'FieldValueRequired',
      message: 'Required value: name or generateName is required',
    };
    throw invalidError(kind, '', [{ ...cause, field: 'metadata.name' }]);
  }
  if (params['name'] !== undefined && name !== params['name']) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${params['name']})`,
    );
  }
  if (namespace !== undefined && namespace !== '' && namespace !== params['namespace']) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  // A missing namespace means default, in a file too.
  const place = params['namespace'] === DEFAULT_NAMESPACE ? {} : { namespace: params['namespace']! };
  return { ...body, kind, apiVersion, metadata: { ...metadata, ...place, name } } as GivenObject;
}

/** Values of Secrets are never returned, not even to their sender. */
function shown(kind: ApplicableKind, value: GivenObject): object {
  if (kind !== 'Secret') return value;
  const { name, namespace = DEFAULT_NAMESPACE } = value.metadata;
  return { apiVersion: 'v1', kind, metadata: { name, namespace } };
}

/** Why an obstacle prevents the change of an object. */
export function refusal(plural: string, name: string, reason: RefusalReason, why: string): ApiError {
  const what = `${plural} ${JSON.stringify(name)}`;
  const message = {
    AlreadyExists: `${what} already exists`,
    Conflict: `Operation cannot be fulfilled on ${what}: ${why}`,
    Forbidden: `${what} is forbidden: ${why}`,
    MethodNotAllowed: why,
  }[reason];
  return new ApiError(reason, message, { name, kind: plural });
}
