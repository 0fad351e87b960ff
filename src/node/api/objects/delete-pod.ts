import { ApiError, badRequest, invalidError } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest, isTrue, jsonAnswer } from '../http/api-request.js';
import { type PodRow, type PodTable } from './pod-table.js';
import { readWhole } from '../http/read-number.js';
import { renderPod } from './render-pod.js';
import { type ServedPod } from './served-pod.js';

/** What {@link deletePod} needs. */
export interface DeletePodOptions {
  readonly table: PodTable;
  readonly findPod: (request: ApiRequest) => PodRow;
  /**
   * Stops the pod until its manifest changes, with the grace period in seconds (default: its own). `keepsClaims`: the
   * volumes of its claims stay in use.
   *
   * Resolves once that is effective, also over a restart of the agent; the pod has not ended then.
   */
  readonly stop: (
    pod: ServedPod,
    gracePeriodSeconds: number | undefined,
    keepsClaims: boolean,
  ) => Promise<void>;
}

/** The options of a DELETE. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: unknown;
  readonly dryRun?: unknown;
  readonly preconditions?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
}

/** DELETE …/pods/{name}: answers with the ending pod. `keepClaims=true` is for a pod that is to be started again. */
export function deletePod({ table, findPod, stop }: DeletePodOptions): ApiHandler {
  return async (request) => {
    const options = await readDeleteOptions(request);
    const row = findPod(request);
    const { metadata } = row.served.pod;
    const { uid, resourceVersion } = options.preconditions ?? {};
    checkPrecondition('pods', metadata.name, 'UID', uid, metadata.uid);
    checkPrecondition('pods', metadata.name, 'ResourceVersion', resourceVersion, String(row.version));
    const graceSeconds = readGrace(request.query, options);
    if (isDryRun(request.query, options)) return jsonAnswer(renderPod(row.served, row.version));
    await stop(row.served, graceSeconds, isTrue(request.query, 'keepClaims'));
    table.refresh(metadata.uid);
    const ending = table.find(metadata.uid);
    // Without grace it is already gone.
    const last = ending ?? table.findGone(metadata.uid, row.addedVersion) ?? row;
    return jsonAnswer(renderPod(last.served, last.version));
  };
}

/** Whether nothing should change: `dryRun=All`. Throws Invalid for another word. */
export function isDryRun(query: URLSearchParams, options: { readonly dryRun?: unknown } = {}): boolean {
  const words = [
    ...query.getAll('dryRun'),
    ...(Array.isArray(options.dryRun) ? (options.dryRun as unknown[]) : []),
  ];
  const wrong = words.find((word) => word !== 'All' && word !== '');
  if (wrong !== undefined) {
    const message = `Unsupported value: ${JSON.stringify(wrong)}: supported values: "All"`;
    throw invalidError('DeleteOptions', '', [{ reason: 'FieldValueNotSupported', message, field: 'dryRun' }]);
  }
  return words.includes('All');
}

/** The body of a DELETE; empty when there is none. */
export async function readDeleteOptions(request: ApiRequest): Promise<DeleteOptions> {
  const body = await request.readBody();
  if (body === undefined) return {};
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  throw badRequest('the body must be DeleteOptions');
}

/** `gracePeriodSeconds` of a query; undefined when it is not there. A negative value counts as 1, as with an API server. */
export function readGraceSeconds(query: URLSearchParams): number | undefined {
  const text = query.get('gracePeriodSeconds') ?? '';
  if (/^-\d+$/.test(text)) return 1;
  return text === '' ? undefined : readWhole(query, 'gracePeriodSeconds');
}

/** The query takes precedence; a negative value counts as 1, as with an API server. */
function readGrace(query: URLSearchParams, { gracePeriodSeconds: told }: DeleteOptions): number | undefined {
  const asked = readGraceSeconds(query);
  if (asked !== undefined) return asked;
  if (told === undefined || told === null) return undefined;
  if (typeof told !== 'number' || !Number.isSafeInteger(told)) {
    throw badRequest('gracePeriodSeconds must be a whole number');
  }
  return told < 0 ? 1 : told;
}

/** Throws Conflict when another object was meant. */
export function checkPrecondition(
  plural: string,
  name: string,
  field: string,
  wanted: unknown,
  found: string,
): void {
  if (wanted === undefined || wanted === null || wanted === found) return;
  const message = `Operation cannot be fulfilled on ${plural} ${JSON.stringify(name)}: Precondition failed: ${field} in precondition: ${JSON.stringify(wanted)}, ${field} in object meta: ${found}`;
  throw new ApiError('Conflict', message, { name, kind: plural });
}
